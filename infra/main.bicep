metadata description = 'The whole of Rough Consensus in one resource group: azd up deploys it.'

targetScope = 'subscription'

@description('The name of this deployment, as azd knows it; every resource name is derived from it.')
@minLength(1)
@maxLength(64)
param environmentName string

@description('Where everything runs and every document stays. Flex Consumption must be offered there.')
@minLength(1)
@metadata({
  azd: {
    type: 'location'
  }
})
param location string

@description('The resource group; empty for rg-<environment>.')
param resourceGroupName string = ''

@description('Who operates the pipeline beside the app (object id); empty for nobody.')
param operatorPrincipalId string = ''

@description('What the operator is.')
@allowed([
  'User'
  'Group'
  'ServicePrincipal'
])
param operatorPrincipalType string = 'User'

@description('Keep Service Bus, Cosmos DB, AI Search and Storage off the internet: private endpoints, Service Bus Premium.')
param vnetEnabled bool = false

@description('Room for the virtual network, if there is one.')
param vnetAddressPrefix string = '10.20.0.0/16'

@description('Cosmos DB: pay for each request, or for a share of a maximum.')
@allowed([
  'serverless'
  'autoscale'
])
param cosmosMode string = 'serverless'

@description('RU/s at most, shared by all containers, when cosmosMode is autoscale.')
@minValue(1000)
param cosmosMaxThroughput int = 1000

@description('The tier of AI Search.')
@allowed([
  'basic'
  'standard'
  'standard2'
])
param searchSku string = 'basic'

@description('Copies of the index: 2 for a promise on reads, 3 for reads and writes.')
@minValue(1)
@maxValue(12)
param searchReplicas int = 1

@description('Parts of the index: each adds room for documents and vectors. Basic has 3 at most.')
@allowed([
  1
  2
  3
  4
  6
  12
])
param searchPartitions int = 1

@description('Service Bus with capacity of its own, also without the network switch.')
param serviceBusPremium bool = false

@description('Messaging units of Service Bus Premium.')
@allowed([
  1
  2
  4
  8
  16
])
param serviceBusUnits int = 1

@description('Let a model word the summaries. Off: extractive summaries, no model, nothing leaves the app.')
param openAiEnabled bool = false
param openAiModelName string = 'gpt-4.1-mini'
param openAiModelVersion string = '2025-04-14'

@description('Where the model may compute: Standard in the region, DataZoneStandard in the zone, GlobalStandard anywhere.')
@allowed([
  'Standard'
  'DataZoneStandard'
  'GlobalStandard'
])
param openAiDeploymentType string = 'DataZoneStandard'

@description('Thousands of tokens a minute for the model.')
@minValue(1)
param openAiCapacity int = 50

@description('Memory of an instance; its share of CPU grows with it.')
@allowed([
  512
  2048
  4096
])
param instanceMemoryMB int = 2048

@description('Instances at most, over all functions together.')
@minValue(40)
@maxValue(1000)
param maximumInstanceCount int = 40

@description('Requests that one instance answers at a time.')
@minValue(1)
@maxValue(1000)
param httpConcurrency int = 16

@description('Instances of the embedding function that stay warm with the model loaded; 0 lets it scale to zero.')
@minValue(0)
@maxValue(20)
param embeddingAlwaysReady int = 1

@description('Let the host read the queues\' lengths to scale by them (Data Owner on each queue). Off: it adds one instance at a time.')
param preciseScaling bool = false

@description('Copies of the archives in three zones (ZRS), or in one place where the region has no zones (LRS).')
@allowed([
  'Standard_LRS'
  'Standard_ZRS'
])
param storageSku string = 'Standard_ZRS'

@description('Uploads not read for so many days move to the cool tier.')
@minValue(1)
param coolAfterDays int = 30

@description('A deleted or overwritten upload can be restored for so many days.')
@minValue(1)
@maxValue(365)
param restorableDays int = 14

@description('How long logs and metrics are kept.')
@minValue(30)
@maxValue(730)
param logRetentionDays int = 30

@description('GB of telemetry a day at most; -1 for no cap.')
param logDailyCapGb int = 1

@description('The share of traces that is sent, from 0 to 1; metrics and logs are always sent.')
param telemetrySamplingRatio string = '1.0'

@description('Who is told of alerts; empty to show them in the portal only.')
param alertEmail string = ''

@description('Warn at 80 % of this much a month, and when the forecast reaches it; 0 for no budget.')
@minValue(0)
param budgetAmount int = 0

@description('The first day of the budget\'s first month.')
param budgetStartDate string = '${utcNow('yyyy-MM')}-01T00:00:00Z'

var token = toLower(uniqueString(subscription().id, environmentName, location))
var tags = {
  'azd-env-name': environmentName
  application: 'rough-consensus'
}
var archives = 'archives'
var deadLetters = 'dead-letters'
var warmEmbedding = {
  name: 'function:embedding'
  instanceCount: embeddingAlwaysReady
}
var appPrincipal = {
  id: identity.outputs.principalId
  type: 'ServicePrincipal'
}
var operator = {
  id: operatorPrincipalId
  type: operatorPrincipalType
}
var principals = empty(operatorPrincipalId) ? [appPrincipal] : [appPrincipal, operator]
var appSubnetId = vnetEnabled ? network!.outputs.appSubnetId : ''
var endpointSubnetId = vnetEnabled ? network!.outputs.endpointSubnetId : ''

var settings = {
  COSMOS_DATABASE: cosmos.outputs.databaseName
  COSMOS_ENDPOINT: cosmos.outputs.endpoint
  RETRY_JOB_INTERVAL_SECONDS: '900'
  SEARCH_ENDPOINT: search.outputs.endpoint
  SERVICEBUS_CONNECTION__fullyQualifiedNamespace: serviceBus.outputs.fullyQualifiedNamespace
  SERVICEBUS_TOPIC: serviceBus.outputs.topicName
  STORAGE_BLOB_ENDPOINT: storage.outputs.blobEndpoint
  TELEMETRY_SAMPLING_RATIO: telemetrySamplingRatio
}
var modelSettings = {
  SUMMARY_BACKEND: 'azureopenai'
  SUMMARY_ENDPOINT: openAi!.outputs.endpoint
  SUMMARY_MODEL: openAi!.outputs.deploymentName
}

resource group 'Microsoft.Resources/resourceGroups@2024-11-01' = {
  name: empty(resourceGroupName) ? 'rg-${environmentName}' : resourceGroupName
  location: location
  tags: tags
}

module identity '../bicep/identity.bicep' = {
  name: 'identity'
  scope: group
  params: {
    name: 'id-${token}'
    location: location
    tags: tags
  }
}

module monitoring '../bicep/monitoring.bicep' = {
  name: 'monitoring'
  scope: group
  params: {
    workspaceName: 'log-${token}'
    componentName: 'appi-${token}'
    location: location
    tags: tags
    publisherPrincipalId: identity.outputs.principalId
    retentionInDays: logRetentionDays
    dailyCapGb: logDailyCapGb
  }
}

module network '../bicep/network.bicep' = if (vnetEnabled) {
  name: 'network'
  scope: group
  params: {
    name: 'vnet-${token}'
    location: location
    tags: tags
    addressPrefix: vnetAddressPrefix
  }
}

module serviceBus '../bicep/servicebus.bicep' = {
  name: 'servicebus'
  scope: group
  params: {
    name: 'bus-${token}'
    location: location
    tags: tags
    sku: vnetEnabled || serviceBusPremium ? 'Premium' : 'Standard'
    units: serviceBusUnits
    principals: principals
    preciseScaling: preciseScaling
    endpointSubnetId: endpointSubnetId
    workspaceId: monitoring.outputs.workspaceId
  }
}

module cosmos '../bicep/cosmos.bicep' = {
  name: 'cosmos'
  scope: group
  params: {
    name: 'cosmos-${token}'
    location: location
    tags: tags
    databaseName: 'consensus'
    mode: cosmosMode
    maxThroughput: cosmosMaxThroughput
    principals: principals
    endpointSubnetId: endpointSubnetId
    workspaceId: monitoring.outputs.workspaceId
  }
}

module search '../bicep/search.bicep' = {
  name: 'search'
  scope: group
  params: {
    name: 'search-${token}'
    location: location
    tags: tags
    sku: searchSku
    replicas: searchReplicas
    partitions: searchPartitions
    principals: principals
    endpointSubnetId: endpointSubnetId
    workspaceId: monitoring.outputs.workspaceId
  }
}

module storage '../bicep/storage.bicep' = {
  name: 'storage'
  scope: group
  params: {
    name: 'st${token}'
    location: location
    tags: tags
    sku: storageSku
    containers: [
      archives
      deadLetters
    ]
    coolAfterDays: coolAfterDays
    restorableDays: restorableDays
    principals: principals
    endpointSubnetId: endpointSubnetId
  }
}

module openAi '../bicep/openai.bicep' = if (openAiEnabled) {
  name: 'openai'
  scope: group
  params: {
    name: 'openai-${token}'
    location: location
    tags: tags
    modelName: openAiModelName
    modelVersion: openAiModelVersion
    deploymentType: openAiDeploymentType
    capacity: openAiCapacity
    userPrincipalId: identity.outputs.principalId
    endpointSubnetId: endpointSubnetId
  }
}

module app '../bicep/function-app.bicep' = {
  name: 'app'
  scope: group
  params: {
    name: 'func-${token}'
    planName: 'plan-${token}'
    storageName: 'stfunc${token}'
    location: location
    tags: tags
    serviceName: 'app'
    identityId: identity.outputs.id
    identityClientId: identity.outputs.clientId
    identityPrincipalId: identity.outputs.principalId
    componentName: monitoring.outputs.componentName
    instanceMemoryMB: instanceMemoryMB
    maximumInstanceCount: maximumInstanceCount
    httpConcurrency: httpConcurrency
    alwaysReady: embeddingAlwaysReady == 0 ? [] : [warmEmbedding]
    appSubnetId: appSubnetId
    endpointSubnetId: endpointSubnetId
    workspaceId: monitoring.outputs.workspaceId
    settings: openAiEnabled ? union(settings, modelSettings) : settings
  }
}

module alerts '../bicep/alerts.bicep' = {
  name: 'alerts'
  scope: group
  params: {
    namePrefix: environmentName
    location: location
    tags: tags
    email: alertEmail
    workspaceId: monitoring.outputs.workspaceId
    serviceBusId: serviceBus.outputs.id
    cosmosId: cosmos.outputs.id
  }
}

module workbook '../bicep/workbook.bicep' = {
  name: 'workbook'
  scope: group
  params: {
    displayName: 'Rough Consensus (${environmentName})'
    location: location
    tags: tags
    workspaceId: monitoring.outputs.workspaceId
    serviceBusId: serviceBus.outputs.id
    cosmosId: cosmos.outputs.id
  }
}

module budget '../bicep/budget.bicep' = if (budgetAmount > 0) {
  name: 'budget'
  scope: group
  params: {
    name: '${environmentName}-monthly'
    amount: budgetAmount
    startDate: budgetStartDate
    contactEmails: empty(alertEmail) ? [] : [alertEmail]
    actionGroupId: alerts.outputs.actionGroupId
  }
}

// What `azd env get-values` and the hooks read. No key is among them, for there is none.
output AZURE_LOCATION string = location
output AZURE_RESOURCE_GROUP string = group.name
output AZURE_FUNCTION_APP_NAME string = app.outputs.name
output APP_URI string = app.outputs.uri
output COSMOS_DATABASE string = cosmos.outputs.databaseName
output COSMOS_ENDPOINT string = cosmos.outputs.endpoint
output SEARCH_ENDPOINT string = search.outputs.endpoint
output SERVICEBUS_CONNECTION__fullyQualifiedNamespace string = serviceBus.outputs.fullyQualifiedNamespace
output STORAGE_BLOB_ENDPOINT string = storage.outputs.blobEndpoint
output WORKBOOK_ID string = workbook.outputs.id
