metadata description = 'The operator\'s dashboard: the panels of the retry policy (spec 001) and related panels.'

param displayName string
param location string
param tags object
param workspaceId string
param serviceBusId string
param cosmosId string

var tabs = [
  'Pipeline'
  'Archive'
  'Retry policy'
  'Dead letters'
  'Cost'
]

// linechart and barchart over time, table for the present.
var queryPanels = [
  {
    tab: 'Pipeline'
    title: 'Events processed, by stage'
    view: 'linechart'
    query: loadTextContent('../infra/kql/pipeline-throughput.kql')
  }
  {
    tab: 'Pipeline'
    title: 'Events processed, by type'
    view: 'table'
    query: loadTextContent('../infra/kql/pipeline-by-event.kql')
  }
  {
    tab: 'Pipeline'
    title: 'Seconds an event takes, by stage'
    view: 'table'
    query: loadTextContent('../infra/kql/pipeline-duration.kql')
  }
  {
    tab: 'Pipeline'
    title: 'Share of deliveries that failed, in percent'
    view: 'linechart'
    query: loadTextContent('../infra/kql/pipeline-failure-rate.kql')
  }
  {
    tab: 'Pipeline'
    title: 'Failures, by stage and error'
    view: 'table'
    query: loadTextContent('../infra/kql/pipeline-failures.kql')
  }
  {
    tab: 'Pipeline'
    title: 'The search index, where it is missing or of another shape'
    view: 'table'
    query: loadTextContent('../infra/kql/pipeline-index.kql')
  }
  {
    tab: 'Pipeline'
    title: 'Calls to other services'
    view: 'table'
    query: loadTextContent('../infra/kql/pipeline-dependencies.kql')
  }
  {
    tab: 'Pipeline'
    title: 'Slowest runs of a stage'
    view: 'table'
    query: loadTextContent('../infra/kql/pipeline-slowest-traces.kql')
  }
  {
    tab: 'Pipeline'
    title: 'From upload to report: the slowest, and how many were late'
    view: 'linechart'
    query: loadTextContent('../infra/kql/pipeline-latency.kql')
  }
  {
    tab: 'Pipeline'
    title: 'Age of the oldest message, by queue, in seconds'
    view: 'linechart'
    query: loadTextContent('../infra/kql/pipeline-ages.kql')
  }
  {
    tab: 'Pipeline'
    title: 'What came twice, and restarts of the encoder'
    view: 'linechart'
    query: loadTextContent('../infra/kql/pipeline-duplicates.kql')
  }
  {
    tab: 'Archive'
    title: 'Why it is not done, and what happens next'
    view: 'table'
    query: loadTextContent('../infra/kql/archive-why.kql')
  }
  {
    tab: 'Archive'
    title: 'What each stage did for this archive'
    view: 'table'
    query: loadTextContent('../infra/kql/archive-stages.kql')
  }
  {
    tab: 'Archive'
    title: 'What is stuck: events whose last run failed'
    view: 'table'
    query: loadTextContent('../infra/kql/archive-stuck.kql')
  }
  {
    tab: 'Archive'
    title: 'Errors of this archive'
    view: 'table'
    query: loadTextContent('../infra/kql/archive-errors.kql')
  }
  {
    tab: 'Retry policy'
    title: 'Documents requeued'
    view: 'linechart'
    query: loadTextContent('../infra/kql/retry-rate.kql')
  }
  {
    tab: 'Retry policy'
    title: 'Documents that ran out of attempts'
    view: 'barchart'
    query: loadTextContent('../infra/kql/retry-exceeded.kql')
  }
  {
    tab: 'Retry policy'
    title: 'Documents that waited for their backoff'
    view: 'linechart'
    query: loadTextContent('../infra/kql/retry-backoff.kql')
  }
  {
    tab: 'Retry policy'
    title: 'Seconds the sweep takes'
    view: 'linechart'
    query: loadTextContent('../infra/kql/retry-duration.kql')
  }
  {
    tab: 'Retry policy'
    title: 'Runs of the sweep'
    view: 'barchart'
    query: loadTextContent('../infra/kql/retry-runs.kql')
  }
  {
    tab: 'Retry policy'
    title: 'Failed documents now'
    view: 'table'
    query: loadTextContent('../infra/kql/retry-failed.kql')
  }
  {
    tab: 'Retry policy'
    title: 'Errors of the sweep'
    view: 'table'
    query: loadTextContent('../infra/kql/retry-errors.kql')
  }
  {
    tab: 'Dead letters'
    title: 'Races between an event and its document'
    view: 'table'
    query: loadTextContent('../infra/kql/deadletters-races.kql')
  }
  {
    tab: 'Dead letters'
    title: 'Why events were given up'
    view: 'table'
    query: loadTextContent('../infra/kql/deadletters-reasons.kql')
  }
  {
    tab: 'Dead letters'
    title: 'Attempts that an event needed'
    view: 'table'
    query: loadTextContent('../infra/kql/deadletters-attempts.kql')
  }
  {
    tab: 'Dead letters'
    title: 'What the stages said'
    view: 'table'
    query: loadTextContent('../infra/kql/deadletters-log.kql')
  }
  {
    tab: 'Cost'
    title: 'Cosmos DB request units, by container'
    view: 'barchart'
    query: loadTextContent('../infra/kql/cost-request-units.kql')
  }
  {
    tab: 'Cost'
    title: 'Request units an event costs'
    view: 'table'
    query: loadTextContent('../infra/kql/cost-units-per-event.kql')
  }
  {
    tab: 'Cost'
    title: 'Busy seconds of the functions'
    view: 'barchart'
    query: loadTextContent('../infra/kql/cost-compute.kql')
  }
  {
    tab: 'Cost'
    title: 'Billed operations of other services'
    view: 'table'
    query: loadTextContent('../infra/kql/cost-operations.kql')
  }
  {
    tab: 'Cost'
    title: 'Gigabytes of telemetry'
    view: 'barchart'
    query: loadTextContent('../infra/kql/cost-ingestion.kql')
  }
]

// aggregation: 1 is the total, 3 the maximum, 4 the average.
var metricPanels = [
  {
    tab: 'Pipeline'
    title: 'Messages that wait, by queue'
    resourceId: serviceBusId
    resourceType: 'microsoft.servicebus/namespaces'
    metric: 'ActiveMessages'
    aggregation: 4
    splitBy: 'EntityName'
  }
  {
    tab: 'Dead letters'
    title: 'Dead letters, by queue'
    resourceId: serviceBusId
    resourceType: 'microsoft.servicebus/namespaces'
    metric: 'DeadletteredMessages'
    aggregation: 4
    splitBy: 'EntityName'
  }
  {
    tab: 'Cost'
    title: 'Service Bus operations'
    resourceId: serviceBusId
    resourceType: 'microsoft.servicebus/namespaces'
    metric: 'IncomingRequests'
    aggregation: 1
    splitBy: 'EntityName'
  }
  {
    tab: 'Cost'
    title: 'Cosmos DB storage, by container'
    resourceId: cosmosId
    resourceType: 'microsoft.documentdb/databaseaccounts'
    metric: 'DataUsage'
    aggregation: 1
    splitBy: 'CollectionName'
  }
]

var timeRange = {
  type: 9
  name: 'range'
  content: {
    version: 'KqlParameterItem/1.0'
    style: 'pills'
    parameters: [
      {
        id: guid(workspaceId, 'timeRange')
        version: 'KqlParameterItem/1.0'
        name: 'timeRange'
        label: 'Time range'
        type: 4
        isRequired: true
        value: {
          durationMs: 86400000
        }
        typeSettings: {
          allowCustom: true
          selectableValues: [
            {
              durationMs: 3600000
            }
            {
              durationMs: 14400000
            }
            {
              durationMs: 86400000
            }
            {
              durationMs: 604800000
            }
            {
              durationMs: 2592000000
            }
          ]
        }
      }
    ]
  }
}

// The queries of the Archive tab have its value instead of {archive}.
var archiveId = {
  type: 9
  name: 'archive'
  conditionalVisibility: {
    parameterName: 'tab'
    comparison: 'isEqualTo'
    value: 'Archive'
  }
  content: {
    version: 'KqlParameterItem/1.0'
    style: 'pills'
    parameters: [
      {
        id: guid(workspaceId, 'archive')
        version: 'KqlParameterItem/1.0'
        name: 'archive'
        label: 'Archive (its id, as the archives page and ops show it)'
        type: 1
        isRequired: true
        value: ''
      }
    ]
  }
}

var tabStrip = {
  type: 11
  name: 'tabs'
  content: {
    version: 'LinkItem/1.0'
    style: 'tabs'
    links: map(tabs, tab => {
      id: guid(workspaceId, tab)
      cellValue: 'tab'
      linkTarget: 'parameter'
      linkLabel: tab
      subTarget: tab
      style: 'link'
    })
  }
}

var queryItems = map(queryPanels, panel => {
  type: 3
  name: panel.title
  conditionalVisibility: {
    parameterName: 'tab'
    comparison: 'isEqualTo'
    value: panel.tab
  }
  content: {
    version: 'KqlItem/1.0'
    title: panel.title
    query: panel.query
    visualization: panel.view
    size: 0
    showAnalytics: true
    timeContextFromParameter: 'timeRange'
    queryType: 0
    resourceType: 'microsoft.operationalinsights/workspaces'
    crossComponentResources: [
      workspaceId
    ]
  }
})

// Spec 001, panel 1: the numbers turn orange at 50 and red at 200.
var stuckItem = {
  type: 3
  name: 'Stuck documents now'
  conditionalVisibility: {
    parameterName: 'tab'
    comparison: 'isEqualTo'
    value: 'Retry policy'
  }
  content: {
    version: 'KqlItem/1.0'
    title: 'Stuck documents now (warning at 50, critical at 200)'
    query: loadTextContent('../infra/kql/retry-stuck.kql')
    visualization: 'table'
    size: 0
    showAnalytics: true
    timeContextFromParameter: 'timeRange'
    queryType: 0
    resourceType: 'microsoft.operationalinsights/workspaces'
    crossComponentResources: [
      workspaceId
    ]
    gridSettings: {
      formatters: [
        {
          columnMatch: 'Stuck'
          formatter: 18
          formatOptions: {
            thresholdsOptions: 'colors'
            thresholdsGrid: [
              {
                operator: '>='
                thresholdValue: '200'
                representation: 'redBright'
                text: '{0}{1}'
              }
              {
                operator: '>='
                thresholdValue: '50'
                representation: 'orange'
                text: '{0}{1}'
              }
              {
                operator: 'Default'
                representation: 'green'
                text: '{0}{1}'
              }
            ]
          }
        }
      ]
    }
  }
}

var metricItems = map(metricPanels, panel => {
  type: 10
  name: panel.title
  conditionalVisibility: {
    parameterName: 'tab'
    comparison: 'isEqualTo'
    value: panel.tab
  }
  content: {
    version: 'MetricsItem/2.0'
    title: panel.title
    chartId: guid(workspaceId, panel.title)
    chartType: 2
    metricScope: 0
    size: 0
    timeContextFromParameter: 'timeRange'
    resourceType: panel.resourceType
    resourceIds: [
      panel.resourceId
    ]
    metrics: [
      {
        namespace: panel.resourceType
        metric: '${panel.resourceType}--${panel.metric}'
        aggregation: panel.aggregation
        splitBy: panel.splitBy
      }
    ]
  }
})

resource workbook 'Microsoft.Insights/workbooks@2023-06-01' = {
  name: guid(resourceGroup().id, 'rough-consensus-workbook')
  location: location
  tags: tags
  kind: 'shared'
  properties: {
    displayName: displayName
    category: 'workbook'
    sourceId: workspaceId
    version: 'Notebook/1.0'
    serializedData: string({
      version: 'Notebook/1.0'
      items: concat(
        [
          timeRange
          tabStrip
          archiveId
          stuckItem
        ],
        metricItems,
        queryItems
      )
      '$schema': 'https://github.com/Microsoft/Application-Insights-Workbooks/blob/master/schema/workbook.json'
    })
  }
}

output id string = workbook.id
