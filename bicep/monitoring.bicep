metadata description = 'The destination of logs, traces and metrics: a workspace with Application Insights.'

param workspaceName string
param componentName string
param location string
param tags object

@description('Principals that may send telemetry: the apps\' identities ({ id, type }).')
param publishers array

@description('Principals that may read telemetry: the operators ({ id, type }).')
param readers array

@description('The retention of logs and metrics.')
@minValue(30)
@maxValue(730)
param retentionInDays int

@description('The daily ingestion limit in GB, -1 for no limit.')
param dailyCapGb int

var roles = loadJsonContent('../infra/roles.json')

resource workspace 'Microsoft.OperationalInsights/workspaces@2025-02-01' = {
  name: workspaceName
  location: location
  tags: tags
  properties: {
    sku: {
      name: 'PerGB2018'
    }
    retentionInDays: retentionInDays
    features: {
      disableLocalAuth: true
    }
    workspaceCapping: {
      dailyQuotaGb: dailyCapGb
    }
  }
}

resource component 'Microsoft.Insights/components@2020-02-02' = {
  name: componentName
  location: location
  tags: tags
  kind: 'web'
  properties: {
    Application_Type: 'web'
    WorkspaceResourceId: workspace.id
    // The connection string then has only the address: telemetry without a token is rejected.
    DisableLocalAuth: true
  }
}

resource publisher 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for principal in publishers: {
    name: guid(component.id, principal.id, roles['Monitoring Metrics Publisher'])
    scope: component
    properties: {
      roleDefinitionId: subscriptionResourceId(
        'Microsoft.Authorization/roleDefinitions',
        roles['Monitoring Metrics Publisher']
      )
      principalId: principal.id
      principalType: principal.type
    }
  }
]

resource reader 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for principal in readers: {
    name: guid(workspace.id, principal.id, roles['Log Analytics Reader'])
    scope: workspace
    properties: {
      roleDefinitionId: subscriptionResourceId(
        'Microsoft.Authorization/roleDefinitions',
        roles['Log Analytics Reader']
      )
      principalId: principal.id
      principalType: principal.type
    }
  }
]

output componentId string = component.id
output workspaceId string = workspace.id
output queryId string = workspace.properties.customerId
output componentId string = component.id
output componentName string = component.name
