metadata description = 'Cosmos DB with the containers of shared/models/containers.py, by way of infra/cosmos/containers.json.'

param name string
param location string
param tags object
param databaseName string

@description('serverless: pay per request. autoscale: pay for a share of the maximum, for steady load.')
@allowed([
  'serverless'
  'autoscale'
])
param mode string

@description('The database\'s maximum RU/s in autoscale mode.')
@minValue(1000)
param maxThroughput int

@description('Principals that read and write documents: the app, and the operator if there is one ({ id, type }).')
param principals array
param endpointSubnetId string
param workspaceId string

@description('Log each data request with its caller.')
param logsAccess bool

// any(): each item is a container as the resource provider takes it, written by tools/cosmos_containers.py.
var containers = any(loadJsonContent('../infra/cosmos/containers.json'))
var zones = loadJsonContent('../infra/private-zones.json')
var isPrivate = !empty(endpointSubnetId)
var isServerless = mode == 'serverless'
var serverless = {
  name: 'EnableServerless'
}
var autoscale = {
  autoscaleSettings: {
    maxThroughput: maxThroughput
  }
}
var dataContributor = '00000000-0000-0000-0000-000000000002'

resource account 'Microsoft.DocumentDB/databaseAccounts@2025-04-15' = {
  name: name
  location: location
  tags: tags
  kind: 'GlobalDocumentDB'
  properties: {
    databaseAccountOfferType: 'Standard'
    locations: [
      {
        locationName: location
        failoverPriority: 0
        isZoneRedundant: false
      }
    ]
    capabilities: isServerless ? [serverless] : []
    // The events have session tokens: a stage reads the previous stage's writes.
    consistencyPolicy: {
      defaultConsistencyLevel: 'Session'
    }
    disableLocalAuth: true
    disableKeyBasedMetadataWriteAccess: true
    minimalTlsVersion: 'Tls12'
    publicNetworkAccess: isPrivate ? 'Disabled' : 'Enabled'
    backupPolicy: {
      type: 'Continuous'
      continuousModeProperties: {
        tier: 'Continuous7Days'
      }
    }
  }
}

resource database 'Microsoft.DocumentDB/databaseAccounts/sqlDatabases@2025-04-15' = {
  parent: account
  name: databaseName
  properties: {
    resource: {
      id: databaseName
    }
    options: isServerless ? {} : autoscale
  }
}

resource container 'Microsoft.DocumentDB/databaseAccounts/sqlDatabases/containers@2025-04-15' = [
  for each in containers: {
    parent: database
    name: each.id
    properties: {
      resource: each
    }
  }
]

// Sequential, because the account is locked during a change and answers parallel changes with 412.
@batchSize(1)
resource contributors 'Microsoft.DocumentDB/databaseAccounts/sqlRoleAssignments@2025-04-15' = [
  for principal in principals: {
    parent: account
    name: guid(database.id, principal.id, dataContributor)
    properties: {
      roleDefinitionId: '${account.id}/sqlRoleDefinitions/${dataContributor}'
      principalId: principal.id
      scope: '${account.id}/dbs/${database.name}'
    }
  }
]

module endpoint 'private-endpoint.bicep' = if (isPrivate) {
  name: 'cosmos-endpoint'
  params: {
    name: '${name}-endpoint'
    location: location
    tags: tags
    subnetId: endpointSubnetId
    serviceId: account.id
    group: 'Sql'
    zoneName: zones.cosmos
  }
}

resource diagnostics 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  name: 'to-workspace'
  scope: account
  properties: {
    workspaceId: workspaceId
    logAnalyticsDestinationType: 'Dedicated'
    logs: [
      {
        category: 'ControlPlaneRequests'
        enabled: true
      }
      {
        category: 'DataPlaneRequests'
        enabled: logsAccess
      }
    ]
    metrics: [
      {
        category: 'Requests'
        enabled: true
      }
    ]
  }
}

output id string = account.id
output endpoint string = account.properties.documentEndpoint
output databaseName string = database.name
