metadata description = 'AI Search, for the chunks by words and by meaning.'

param name string
param location string
param tags object

@description('basic holds one small index; standard more and larger ones. free has 50 MB and no private endpoints.')
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

@description('Parts of the index, each with room of its own.')
param partitions int

@description('The web app: reads documents and the definition of the index.')
param readerPrincipalId string

@description('The worker: reads and writes documents, and reads the definition of the index.')
param writerPrincipalId string

@description('Who makes the index and brings it up to date: whoever deploys, and the operators ({ id, type }).')
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
    // The ranking is ours (words and vectors merged by rank): the paid re-ranker stays off.
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

// The apps read which index there is and its shape. They create and change none.
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
