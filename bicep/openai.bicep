metadata description = 'A model that writes the summaries. Without it, the app uses its own extractive summaries.'

param name string
param location string
param tags object
param modelName string
param modelVersion string

@description('GlobalStandard may process data anywhere, DataZoneStandard in the zone, Standard in the region.')
@allowed([
  'Standard'
  'DataZoneStandard'
  'GlobalStandard'
])
param deploymentType string

@description('Thousands of tokens per minute.')
@minValue(1)
param capacity int

@description('Principals that may call the model: the apps\' identities ({ id, type }).')
param users array
param endpointSubnetId string

var roles = loadJsonContent('../infra/roles.json')
var zones = loadJsonContent('../infra/private-zones.json')
var isPrivate = !empty(endpointSubnetId)

resource account 'Microsoft.CognitiveServices/accounts@2025-06-01' = {
  name: name
  location: location
  tags: tags
  kind: 'OpenAI'
  sku: {
    name: 'S0'
  }
  properties: {
    customSubDomainName: name
    disableLocalAuth: true
    publicNetworkAccess: isPrivate ? 'Disabled' : 'Enabled'
    networkAcls: {
      defaultAction: isPrivate ? 'Deny' : 'Allow'
    }
  }
}

resource model 'Microsoft.CognitiveServices/accounts/deployments@2025-06-01' = {
  parent: account
  name: modelName
  sku: {
    name: deploymentType
    capacity: capacity
  }
  properties: {
    model: {
      format: 'OpenAI'
      name: modelName
      version: modelVersion
    }
    versionUpgradeOption: 'OnceCurrentVersionExpired'
  }
}

resource user 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for principal in users: {
    name: guid(account.id, principal.id, roles['Cognitive Services OpenAI User'])
    scope: account
    properties: {
      roleDefinitionId: subscriptionResourceId(
        'Microsoft.Authorization/roleDefinitions',
        roles['Cognitive Services OpenAI User']
      )
      principalId: principal.id
      principalType: principal.type
    }
  }
]

module endpoint 'private-endpoint.bicep' = if (isPrivate) {
  name: 'openai-endpoint'
  params: {
    name: '${name}-endpoint'
    location: location
    tags: tags
    subnetId: endpointSubnetId
    serviceId: account.id
    group: 'account'
    zoneName: zones.openai
  }
}

output endpoint string = account.properties.endpoint
output deploymentName string = model.name
