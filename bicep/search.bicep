metadata description = 'AI Search, for the chunks by words and by meaning.'

param name string
param location string
param tags object

@description('basic holds one small index; standard more and larger ones. free has neither roles nor private endpoints.')
@allowed([
  'basic'
  'standard'
  'standard2'
])
param sku string

@minValue(1)
@maxValue(12)
param replicas int

@description('Parts of the index, each with room of its own.')
param partitions int

@description('Who reads and writes the index: the app, and the operator where one is given ({ id, type }).')
param principals array
param endpointSubnetId string
param workspaceId string

var roles = loadJsonContent('../infra/roles.json')
var zones = loadJsonContent('../infra/private-zones.json')
var isPrivate = !empty(endpointSubnetId)

resource service 'Microsoft.Search/searchServices@2025-05-01' = {
  name: name
  location: location
  tags: tags
  sku: {
    name: sku
  }
  properties: {
    replicaCount: replicas
    partitionCount: partitions
    disableLocalAuth: true
    publicNetworkAccess: isPrivate ? 'disabled' : 'enabled'
    // The ranking is ours (words and vectors merged by rank): the paid re-ranker stays off.
    semanticSearch: 'disabled'
  }
}

resource documents 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for principal in principals: {
    name: guid(service.id, principal.id, roles['Search Index Data Contributor'])
    scope: service
    properties: {
      roleDefinitionId: subscriptionResourceId(
        'Microsoft.Authorization/roleDefinitions',
        roles['Search Index Data Contributor']
      )
      principalId: principal.id
      principalType: principal.type
    }
  }
]

// The app creates its index and brings it up to date (shared/clients/search): documents alone are not enough for that.
resource indexes 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for principal in principals: {
    name: guid(service.id, principal.id, roles['Search Service Contributor'])
    scope: service
    properties: {
      roleDefinitionId: subscriptionResourceId(
        'Microsoft.Authorization/roleDefinitions',
        roles['Search Service Contributor']
      )
      principalId: principal.id
      principalType: principal.type
    }
  }
]

module endpoint 'private-endpoint.bicep' = if (isPrivate) {
  name: 'search-endpoint'
  params: {
    name: '${name}-endpoint'
    location: location
    tags: tags
    subnetId: endpointSubnetId
    serviceId: service.id
    group: 'searchService'
    zoneName: zones.search
  }
}

resource diagnostics 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  name: 'to-workspace'
  scope: service
  properties: {
    workspaceId: workspaceId
    logs: [
      {
        category: 'OperationLogs'
        enabled: true
      }
    ]
    metrics: [
      {
        category: 'AllMetrics'
        enabled: true
      }
    ]
  }
}

output id string = service.id
output endpoint string = 'https://${service.name}.search.windows.net'
