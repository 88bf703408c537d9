metadata description = 'AI Search for chunks, by words and by meaning.'

param name string
param location string
param tags object

@description('basic fits one small index, standard more and larger ones. free has 50 MB and no private endpoints.')
@allowed([
  'free'
  'basic'
  'standard'
  'standard2'
])
param sku string

@minValue(1)
@maxValue(12)
param replicas int

@description('Partitions of the index, each with its own capacity.')
param partitions int

@description('The web app, which reads documents and the index definition.')
param readerPrincipalId string

@description('The worker, which reads and writes documents, and reads the index definition.')
param writerPrincipalId string

@description('Principals that create and update the index: the deployer and the operators ({ id, type }).')
param indexMakers array
param endpointSubnetId string
param workspaceId string

var roles = loadJsonContent('../infra/roles.json')
var zones = loadJsonContent('../infra/private-zones.json')
var isPrivate = !empty(endpointSubnetId)
var writer = {
  id: writerPrincipalId
  type: 'ServicePrincipal'
}

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
    publicNetworkAccess: isPrivate ? 'Disabled' : 'Enabled'
    // The app merges words and vectors by rank, so the paid re-ranker stays disabled.
    semanticSearch: 'disabled'
  }
}

resource documents 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for principal in concat([writer], indexMakers): {
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

resource indexes 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for principal in indexMakers: {
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

resource searches 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(service.id, readerPrincipalId, roles['Search Index Data Reader'])
  scope: service
  properties: {
    roleDefinitionId: subscriptionResourceId(
      'Microsoft.Authorization/roleDefinitions',
      roles['Search Index Data Reader']
    )
    principalId: readerPrincipalId
    principalType: 'ServicePrincipal'
  }
}

// The apps read the existing index and its definition. They do not create or change an index.
resource definitions 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for principalId in [readerPrincipalId, writerPrincipalId]: {
    name: guid(service.id, principalId, roles.Reader)
    scope: service
    properties: {
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roles.Reader)
      principalId: principalId
      principalType: 'ServicePrincipal'
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
