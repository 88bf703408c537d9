metadata description = 'Where logs, traces and metrics go: one workspace, and Application Insights upon it.'

param workspaceName string
param componentName string
param location string
param tags object

@description('Who may send telemetry: the apps, by their identities ({ id, type }).')
param publishers array

@description('Who may read what was sent: the operators ({ id, type }).')
param readers array

@description('How long logs and metrics are kept.')
@minValue(30)
@maxValue(730)
param retentionInDays int

@description('The most that may be ingested in a day, in GB; -1 for no cap.')
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
    // The connection string then says only where to send: without a token nothing is accepted.
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
