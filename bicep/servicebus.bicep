metadata description = 'Service Bus with the same entities as the local cloud: both read infra/servicebus/Config.json.'

param name string
param location string
param tags object

@description('Private endpoints need Premium.')
@allowed([
  'Standard'
  'Premium'
])
param sku string

@description('Messaging units of the Premium tier.')
param units int

@description('The principals that run the stages.')
param workerPrincipalId string

@description('Other principals that send and receive: the operators ({ id, type }).')
param principals array

@description('The subnet for a private endpoint. Empty for the public address.')
param endpointSubnetId string
param workspaceId string

// any(): the file has the emulator's schema, where most properties are optional.
var config = any(loadJsonContent('../infra/servicebus/Config.json')).UserConfig.Namespaces[0]
var roles = loadJsonContent('../infra/roles.json')
var zones = loadJsonContent('../infra/private-zones.json')
var isPrivate = !empty(endpointSubnetId)

// The emulator keeps messages for at most an hour and remembers ids for five minutes. Azure allows more:
// two weeks, so that a queue can wait for a repair, and half an hour, which covers the longest run of a function.
var messageTimeToLive = 'P14D'
var duplicateWindow = 'PT30M'

var subscriptions = flatten(map(config.Topics, owner => map(owner.Subscriptions, each => {
  topic: owner.Name
  subscription: each
})))

resource namespace 'Microsoft.ServiceBus/namespaces@2024-01-01' = {
  name: name
  location: location
  tags: tags
  sku: {
    name: sku
    tier: sku
    capacity: sku == 'Premium' ? units : null
  }
  properties: {
    disableLocalAuth: true
    minimumTlsVersion: '1.2'
    publicNetworkAccess: isPrivate ? 'Disabled' : 'Enabled'
  }
}

// Owner of the whole namespace, which only this app uses. Flex Consumption scales by the number of active messages,
// which only an owner can read. Otherwise the scaler peeks at the first ten messages: if all of them are scheduled
// copies of later attempts, it counts zero, and the active messages after them start no instance.
resource workerAccess 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(namespace.id, workerPrincipalId, roles['Azure Service Bus Data Owner'])
  scope: namespace
  properties: {
    roleDefinitionId: subscriptionResourceId(
      'Microsoft.Authorization/roleDefinitions',
      roles['Azure Service Bus Data Owner']
    )
    principalId: workerPrincipalId
    principalType: 'ServicePrincipal'
  }
}

// Sequential, because the service rejects concurrent changes of a namespace.
@batchSize(1)
module queue 'servicebus-queue.bicep' = [
  for each in config.Queues: {
    name: 'queue-${each.Name}'
    params: {
      namespaceName: namespace.name
      queue: each
      messageTimeToLive: messageTimeToLive
      duplicateWindow: duplicateWindow
      principals: principals
    }
  }
]

@batchSize(1)
module topic 'servicebus-topic.bicep' = [
  for each in config.Topics: {
    name: 'topic-${each.Name}'
    params: {
      namespaceName: namespace.name
      topic: each
      messageTimeToLive: messageTimeToLive
      duplicateWindow: duplicateWindow
      principals: principals
    }
  }
]

@batchSize(1)
module subscription 'servicebus-subscription.bicep' = [
  for each in subscriptions: {
    name: 'subscription-${each.topic}-${each.subscription.Name}'
    params: {
      namespaceName: namespace.name
      topicName: each.topic
      subscription: each.subscription
      messageTimeToLive: messageTimeToLive
    }
    dependsOn: [
      queue
      topic
    ]
  }
]

module endpoint 'private-endpoint.bicep' = if (isPrivate) {
  name: 'servicebus-endpoint'
  params: {
    name: '${name}-endpoint'
    location: location
    tags: tags
    subnetId: endpointSubnetId
    serviceId: namespace.id
    group: 'namespace'
    zoneName: zones.servicebus
  }
}

resource diagnostics 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  name: 'to-workspace'
  scope: namespace
  properties: {
    workspaceId: workspaceId
    logs: [
      {
        category: 'OperationalLogs'
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

output id string = namespace.id
output fullyQualifiedNamespace string = replace(
  replace(namespace.properties.serviceBusEndpoint, 'https://', ''),
  ':443/',
  ''
)
output topicName string = config.Topics[0].Name
