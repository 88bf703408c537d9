metadata description = 'The alerts of the retry policy (spec 001) and of the services that it uses.'

param namePrefix string
param location string
param tags object

@description('Recipient of alerts. Without an address, alerts are only visible in the portal.')
param email string

@description('Names of the query alerts without alerts on rejected calls. Empty for all alerts.')
param chosen array
param workspaceId string
param serviceBusId string
param cosmosId string

@description('Application Insights, and the app\'s health endpoint.')
param componentId string
param healthUrl string

var queryAlerts = [
  {
    name: 'stuck-documents'
    description: 'A collection has had more than 50 stuck documents for an hour (tier 2). Look at the Retry policy tab.'
    severity: 2
    query: loadTextContent('../infra/kql/alert-stuck-documents.kql')
    measure: 'Stuck'
    dimensions: [
      'collection'
    ]
    threshold: 50
    window: 'PT1H'
    frequency: 'PT15M'
  }
  {
    name: 'max-retries-exceeded'
    description: 'More than 10 documents of a collection ran out of attempts within an hour (tier 3). Look at the failures.'
    severity: 1
    query: loadTextContent('../infra/kql/alert-max-retries.kql')
    measure: 'Documents'
    dimensions: [
      'collection'
    ]
    threshold: 10
    window: 'PT1H'
    frequency: 'PT15M'
  }
  {
    name: 'many-failed-documents'
    description: 'More than 1000 documents of a collection are in a failed state (tier 4): declare an incident.'
    severity: 0
    query: loadTextContent('../infra/kql/alert-many-failed.kql')
    measure: 'Failed'
    dimensions: [
      'collection'
    ]
    threshold: 1000
    window: 'PT1H'
    frequency: 'PT15M'
  }
  {
    name: 'sweep-failed'
    description: 'The sweep failed. Stuck documents stay stuck until it runs again.'
    severity: 2
    query: loadTextContent('../infra/kql/alert-sweep-failed.kql')
    measure: 'Failures'
    dimensions: []
    threshold: 0
    window: 'PT30M'
    frequency: 'PT5M'
  }
  {
    name: 'sweep-silent'
    description: 'The sweep has not finished for two of its intervals (RETRY_JOB_INTERVAL_SECONDS) and half an hour.'
    severity: 2
    query: loadTextContent('../infra/kql/alert-sweep-silent.kql')
    measure: 'Silent'
    dimensions: []
    threshold: 0
    window: 'PT1H'
    frequency: 'PT15M'
  }
  {
    name: 'no-progress'
    description: 'Messages have been waiting for half an hour, and no event was processed.'
    severity: 1
    query: loadTextContent('../infra/kql/alert-no-progress.kql')
    measure: 'Waiting'
    dimensions: []
    threshold: 0
    window: 'PT30M'
    frequency: 'PT15M'
  }
  {
    name: 'throttling'
    description: 'A service throttles the app repeatedly: raise its capacity, or lower the concurrency.'
    severity: 3
    query: loadTextContent('../infra/kql/alert-throttling.kql')
    measure: 'Throttled'
    dimensions: [
      'dependency'
    ]
    threshold: 100
    window: 'PT15M'
    frequency: 'PT5M'
  }
  {
    name: 'server-errors'
    description: 'The HTTP endpoints answered with 5xx.'
    severity: 2
    query: loadTextContent('../infra/kql/alert-server-errors.kql')
    measure: 'Errors'
    dimensions: []
    threshold: 5
    window: 'PT15M'
    frequency: 'PT5M'
  }
  {
    name: 'service-silent'
    description: 'A service does not respond in time: /api/health says which one, and python -m ops status shows the available status.'
    severity: 2
    query: loadTextContent('../infra/kql/alert-service-silent.kql')
    measure: 'Calls'
    dimensions: [
      'dependency'
    ]
    threshold: 20
    window: 'PT15M'
    frequency: 'PT5M'
  }
  {
    name: 'service-refuses'
    description: 'Most calls to a service fail: python -m ops status and /api/health name the service and the error. Its events wait.'
    severity: 1
    query: loadTextContent('../infra/kql/alert-service-refuses.kql')
    measure: 'Calls'
    dimensions: [
      'dependency'
    ]
    threshold: 20
    window: 'PT15M'
    frequency: 'PT5M'
  }
  {
    name: 'circuit-open'
    description: 'The attempts of a stage fail repeatedly with one error, and the sweep only probes it: python -m ops status names the error.'
    severity: 2
    query: loadTextContent('../infra/kql/alert-circuit-open.kql')
    measure: 'Open'
    dimensions: [
      'collection'
    ]
    threshold: 0
    window: 'PT30M'
    frequency: 'PT15M'
  }
  {
    name: 'chunks-given-up'
    description: 'Chunks cannot be embedded, so the search lacks them. Look at the failures of embedding.'
    severity: 3
    query: loadTextContent('../infra/kql/alert-chunks-given-up.kql')
    measure: 'Chunks'
    dimensions: [
      'error_type'
    ]
    threshold: 0
    window: 'PT1H'
    frequency: 'PT15M'
  }
  {
    name: 'races-given-up'
    description: 'Events failed because their document never appeared (spec 002): a lost write, or a bug.'
    severity: 2
    query: loadTextContent('../infra/kql/alert-races-given-up.kql')
    measure: 'Events'
    dimensions: [
      'service'
    ]
    threshold: 0
    window: 'PT15M'
    frequency: 'PT5M'
  }
  {
    name: 'report-burn-fast'
    description: 'So many reports are late that the month\'s error budget will be used up in two days: look at the Pipeline tab now.'
    severity: 1
    query: loadTextContent('../infra/kql/alert-report-burn-fast.kql')
    measure: 'Burn'
    dimensions: []
    threshold: 14
    window: 'PT1H'
    frequency: 'PT5M'
  }
  {
    name: 'report-burn-slow'
    description: 'Reports have been late for hours: at this rate, the month\'s error budget will be used up in five days.'
    severity: 2
    query: loadTextContent('../infra/kql/alert-report-burn-slow.kql')
    measure: 'Burn'
    dimensions: []
    threshold: 6
    window: 'PT6H'
    frequency: 'PT15M'
  }
  {
    name: 'late-documents'
    description: 'For half an hour, documents have taken longer than SLO_REPORT_MINUTES: python -m ops status, python -m ops archive progress ID --why.'
    severity: 2
    query: loadTextContent('../infra/kql/alert-late-documents.kql')
    measure: 'Late'
    dimensions: [
      'collection'
    ]
    threshold: 0
    window: 'PT30M'
    frequency: 'PT15M'
  }
  {
    name: 'week-old-documents'
    description: 'Documents are not done a week after their arrival (tier 4): declare an incident.'
    severity: 0
    query: loadTextContent('../infra/kql/alert-week-old.kql')
    measure: 'Documents'
    dimensions: [
      'collection'
    ]
    threshold: 0
    window: 'PT1H'
    frequency: 'PT15M'
  }
  {
    name: 'queue-age'
    description: 'The oldest message of a queue has waited longer than allowed: is its stage down, or too slow?'
    severity: 2
    query: loadTextContent('../infra/kql/alert-queue-age.kql')
    measure: 'Share'
    dimensions: [
      'service'
    ]
    threshold: 1
    window: 'PT15M'
    frequency: 'PT5M'
  }
  {
    name: 'stage-no-progress'
    description: 'Messages have been waiting for a stage for half an hour, and the stage has finished none.'
    severity: 1
    query: loadTextContent('../infra/kql/alert-stage-no-progress.kql')
    measure: 'Held'
    dimensions: [
      'service'
    ]
    threshold: 0
    window: 'PT30M'
    frequency: 'PT15M'
  }
  {
    name: 'retry-rate'
    description: 'More than a tenth of a stage\'s events needed a retry (spec 004). Look at the failures, by stage and error.'
    severity: 3
    query: loadTextContent('../infra/kql/alert-retry-rate.kql')
    measure: 'Percent'
    dimensions: [
      'service'
    ]
    threshold: 10
    window: 'PT1H'
    frequency: 'PT15M'
  }
  {
    name: 'encoder-restarts'
    description: 'The encoder\'s process died more than three times in an hour, because of memory or a text that crashes it.'
    severity: 3
    query: loadTextContent('../infra/kql/alert-encoder-restarts.kql')
    measure: 'Restarts'
    dimensions: []
    threshold: 3
    window: 'PT1H'
    frequency: 'PT15M'
  }
]

// These compare with intervals from settings, so they use the longest window that Azure allows a query: two days.
var looksBack = [
  'stuck-documents'
  'many-failed-documents'
  'sweep-silent'
]

var emailReceiver = {
  name: 'operators'
  emailAddress: email
  useCommonAlertSchema: true
}

resource actionGroup 'Microsoft.Insights/actionGroups@2023-01-01' = {
  name: '${namePrefix}-operators'
  location: 'global'
  tags: tags
  properties: {
    groupShortName: 'consensus'
    enabled: true
    emailReceivers: empty(email) ? [] : [emailReceiver]
  }
}

resource queryAlert 'Microsoft.Insights/scheduledQueryRules@2023-12-01' = [
  for alert in filter(queryAlerts, each => empty(chosen) || contains(chosen, each.name)): {
    name: '${namePrefix}-${alert.name}'
    location: location
    tags: tags
    kind: 'LogAlert'
    properties: {
      displayName: alert.name
      description: alert.description
      severity: alert.severity
      enabled: true
      autoMitigate: true
      // The tables appear with the first telemetry, so the first deployment has none to validate against.
      skipQueryValidation: true
      scopes: [
        workspaceId
      ]
      evaluationFrequency: alert.frequency
      windowSize: alert.window
      overrideQueryTimeRange: contains(looksBack, alert.name) ? 'P2D' : null
      criteria: {
        allOf: [
          {
            query: alert.query
            timeAggregation: 'Maximum'
            metricMeasureColumn: alert.measure
            dimensions: map(alert.dimensions, dimension => {
              name: dimension
              operator: 'Include'
              values: [
                '*'
              ]
            })
            operator: 'GreaterThan'
            threshold: alert.threshold
            failingPeriods: {
              numberOfEvaluationPeriods: 1
              minFailingPeriodsToAlert: 1
            }
          }
        ]
      }
      actions: {
        actionGroups: [
          actionGroup.id
        ]
      }
    }
  }
]

resource deadLetters 'Microsoft.Insights/metricAlerts@2018-03-01' = {
  name: '${namePrefix}-dead-letters'
  location: 'global'
  tags: tags
  properties: {
    description: 'A queue has dead letters: python -m ops dlq list --groups shows why, python -m ops dlq requeue --group ID sends them again.'
    severity: 2
    enabled: true
    autoMitigate: true
    scopes: [
      serviceBusId
    ]
    evaluationFrequency: 'PT5M'
    windowSize: 'PT5M'
    criteria: {
      'odata.type': 'Microsoft.Azure.Monitor.SingleResourceMultipleMetricCriteria'
      allOf: [
        {
          criterionType: 'StaticThresholdCriterion'
          name: 'dead-letters'
          metricNamespace: 'Microsoft.ServiceBus/namespaces'
          metricName: 'DeadletteredMessages'
          timeAggregation: 'Average'
          operator: 'GreaterThan'
          threshold: 0
          dimensions: [
            {
              name: 'EntityName'
              operator: 'Include'
              values: [
                '*'
              ]
            }
          ]
        }
      ]
    }
    actions: [
      {
        actionGroupId: actionGroup.id
      }
    ]
  }
}

resource busThrottled 'Microsoft.Insights/metricAlerts@2018-03-01' = if (empty(chosen)) {
  name: '${namePrefix}-servicebus-throttled'
  location: 'global'
  tags: tags
  properties: {
    description: 'Service Bus throttles: Standard shares its capacity, and Premium can have more.'
    severity: 3
    enabled: true
    autoMitigate: true
    scopes: [
      serviceBusId
    ]
    evaluationFrequency: 'PT5M'
    windowSize: 'PT15M'
    criteria: {
      'odata.type': 'Microsoft.Azure.Monitor.SingleResourceMultipleMetricCriteria'
      allOf: [
        {
          criterionType: 'StaticThresholdCriterion'
          name: 'throttled'
          metricNamespace: 'Microsoft.ServiceBus/namespaces'
          metricName: 'ThrottledRequests'
          timeAggregation: 'Total'
          operator: 'GreaterThan'
          threshold: 50
        }
      ]
    }
    actions: [
      {
        actionGroupId: actionGroup.id
      }
    ]
  }
}

resource cosmosThrottled 'Microsoft.Insights/metricAlerts@2018-03-01' = if (empty(chosen)) {
  name: '${namePrefix}-cosmos-throttled'
  location: 'global'
  tags: tags
  properties: {
    description: 'Cosmos DB responds with 429 more often than the SDK\'s own retries can handle.'
    severity: 3
    enabled: true
    autoMitigate: true
    scopes: [
      cosmosId
    ]
    evaluationFrequency: 'PT5M'
    windowSize: 'PT15M'
    criteria: {
      'odata.type': 'Microsoft.Azure.Monitor.SingleResourceMultipleMetricCriteria'
      allOf: [
        {
          criterionType: 'StaticThresholdCriterion'
          name: 'throttled'
          metricNamespace: 'Microsoft.DocumentDB/databaseAccounts'
          metricName: 'TotalRequests'
          timeAggregation: 'Count'
          operator: 'GreaterThan'
          threshold: 500
          dimensions: [
            {
              name: 'StatusCode'
              operator: 'Include'
              values: [
                '429'
              ]
            }
          ]
        }
      ]
    }
    actions: [
      {
        actionGroupId: actionGroup.id
      }
    ]
  }
}

resource healthTest 'Microsoft.Insights/webtests@2022-06-15' = if (empty(chosen)) {
  name: '${namePrefix}-health'
  location: location
  // The portal uses this tag to show the test with its component.
  tags: union(tags, { 'hidden-link:${componentId}': 'Resource' })
  kind: 'standard'
  properties: {
    SyntheticMonitorId: '${namePrefix}-health'
    Name: '${namePrefix}-health'
    Enabled: true
    Frequency: 300
    Timeout: 30
    Kind: 'standard'
    RetryEnabled: true
    Locations: [
      {
        Id: 'emea-nl-ams-azr'
      }
    ]
    Request: {
      RequestUrl: healthUrl
      HttpVerb: 'GET'
    }
    ValidationRules: {
      ExpectedHttpStatusCode: 200
    }
  }
}

resource unhealthy 'Microsoft.Insights/metricAlerts@2018-03-01' = if (empty(chosen)) {
  name: '${namePrefix}-app-unhealthy'
  location: 'global'
  tags: tags
  properties: {
    description: 'The app does not respond, or reports that it cannot work: open /api/health, or run python -m ops status.'
    severity: 1
    enabled: true
    autoMitigate: true
    scopes: [
      componentId
    ]
    evaluationFrequency: 'PT5M'
    windowSize: 'PT15M'
    criteria: {
      'odata.type': 'Microsoft.Azure.Monitor.SingleResourceMultipleMetricCriteria'
      allOf: [
        {
          criterionType: 'StaticThresholdCriterion'
          name: 'availability'
          metricNamespace: 'Microsoft.Insights/components'
          metricName: 'availabilityResults/availabilityPercentage'
          timeAggregation: 'Average'
          operator: 'LessThan'
          threshold: 60
        }
      ]
    }
    actions: [
      {
        actionGroupId: actionGroup.id
      }
    ]
  }
}

output actionGroupId string = actionGroup.id
