metadata description = 'All of Rough Consensus in one resource group, which azd up deploys.'

targetScope = 'subscription'

@description('The name of this deployment in azd. All resource names derive from it.')
@minLength(1)
@maxLength(64)
param environmentName string

@description('The region of all resources and documents: one with Flex Consumption and AI Search (regions.json).')
@allowed([
  'australiaeast'
  'australiasoutheast'
  'brazilsouth'
  'canadacentral'
  'centralindia'
  'centralus'
  'eastasia'
  'eastus'
  'eastus2'
  'francecentral'
  'germanywestcentral'
  'italynorth'
  'japaneast'
  'koreacentral'
  'northcentralus'
  'northeurope'
  'norwayeast'
  'southafricanorth'
  'southcentralus'
  'southeastasia'
  'southindia'
  'spaincentral'
  'swedencentral'
  'uaenorth'
  'uksouth'
  'ukwest'
  'westcentralus'
  'westeurope'
  'westus'
  'westus2'
  'westus3'
])
@metadata({
  azd: {
    type: 'location'
  }
})
param location string

@description('The resource group. Empty for rg-<environment>.')
param resourceGroupName string = ''

@description('The defaults of other parameters: standard, low-cost, or trial (profiles.json).')
@allowed([
  'standard'
  'low-cost'
  'trial'
])
param profile string = 'standard'

@description('The deployer\'s object id, which creates the search index. azd sets it.')
param deployerPrincipalId string = ''

@description('The deployer\'s type: a person, or a pipeline\'s identity. azd sets it.')
@allowed([
  'User'
  'Group'
  'ServicePrincipal'
])
param deployerPrincipalType string = 'User'

@description('The object id of an operator. Empty for the deployer, if that is a person.')
param operatorPrincipalId string = ''

@description('The operator\'s type.')
@allowed([
  'User'
  'Group'
  'ServicePrincipal'
])
param operatorPrincipalType string = 'User'

@description('Keep Service Bus, Cosmos DB, AI Search and Storage off the internet: private endpoints, Service Bus Premium.')
param vnetEnabled bool = false

@description('The address space of the virtual network, if there is one.')
param vnetAddressPrefix string = '10.20.0.0/16'

@description('The database\'s name. A new name starts an empty database, for containers with another layout.')
param cosmosDatabase string = 'consensus'

@description('Cosmos DB: pay per request, or for a share of a maximum.')
@allowed([
  'serverless'
  'autoscale'
])
param cosmosMode string = 'serverless'

@description('The maximum RU/s of all containers together, if cosmosMode is autoscale.')
@minValue(1000)
param cosmosMaxThroughput int = 1000

@description('The tier of AI Search. Empty for the profile\'s. A subscription has one free tier, with 50 MB and no private endpoints.')
@allowed([
  ''
  'free'
  'basic'
  'standard'
  'standard2'
])
param searchSku string = ''

@description('Replicas of the index: 2 for an SLA on reads, 3 for reads and writes.')
@minValue(1)
@maxValue(12)
param searchReplicas int = 1

@description('Partitions of the index, each with capacity for documents and vectors. Basic has at most 3.')
@allowed([
  1
  2
  3
  4
  6
  12
])
param searchPartitions int = 1

@description('Service Bus with dedicated capacity, also without the virtual network.')
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

@description('Let a model write the summaries. If false, summaries are extractive, without a model, and nothing leaves the app.')
param openAiEnabled bool = false
param openAiModelName string = 'gpt-4.1-mini'
param openAiModelVersion string = '2025-04-14'

@description('Where the model may process data: Standard in the region, DataZoneStandard in the zone, GlobalStandard anywhere.')
@allowed([
  'Standard'
  'DataZoneStandard'
  'GlobalStandard'
])
param openAiDeploymentType string = 'DataZoneStandard'

@description('Thousands of tokens per minute for the model.')
@minValue(1)
param openAiCapacity int = 50

@description('Memory of an instance. Its share of CPU is proportional.')
@allowed([
  512
  2048
  4096
])
param instanceMemoryMB int = 2048

@description('Maximum instances of the web app. All HTTP functions scale together.')
@minValue(1)
@maxValue(1000)
param webInstanceCount int = 4

@description('Maximum instances of each queue and timer of the worker app (docs/evidence.md, Instances).')
@minValue(1)
@maxValue(1000)
param workerInstanceCount int = 4

@description('Concurrent requests per instance.')
@minValue(1)
@maxValue(1000)
param httpConcurrency int = 16

@description('Always-ready instances of the embedding function, with the model loaded. 0 scales to zero, -1 is the profile\'s.')
@minValue(-1)
@maxValue(20)
param embeddingAlwaysReady int = -1

@description('Copies of the archives in three zones (ZRS) or one location (LRS). Empty for ZRS if profile and region support it.')
@allowed([
  ''
  'Standard_LRS'
  'Standard_ZRS'
])
param storageSku string = ''

@description('Uploads move to the cool tier after this number of days without a read.')
@minValue(1)
param coolAfterDays int = 30

@description('The number of days in which a deleted or overwritten upload can be restored.')
@minValue(1)
@maxValue(365)
param restorableDays int = 14

@description('The retention of logs and metrics.')
@minValue(30)
@maxValue(730)
param logRetentionDays int = 30

@description('Log each access to documents and blobs, with its caller. The size of the logs depends on the load.')
param dataAccessLogs bool = false

@description('The daily limit of telemetry in GB, -1 for no limit.')
param logDailyCapGb int = 1

@description('The share of sent traces, from 0 to 1. Empty for the profile\'s. Metrics and logs are always sent.')
param telemetrySamplingRatio string = ''

@description('The recipient of alerts. Empty to show them only in the portal.')
param alertEmail string = ''

@description('Monthly amount of a budget. It warns at 80 %, and when the forecast reaches it. 0 for no budget.')
@minValue(0)
param budgetAmount int = 0

@description('The first day of the budget\'s first month, which Azure does not allow to change: an output of the first deployment.')
param budgetStartDate string = ''

@description('Keep a deleted vault for its retention period, in which the environment\'s name stays reserved. Empty for the profile\'s.')
@allowed([
  ''
  'true'
  'false'
])
param purgeProtection string = ''

@description('Recreate stops running functions when an app is deployed or its settings change. RollingUpdate (preview) drains them first.')
@allowed([
  'Recreate'
  'RollingUpdate'
])
param siteUpdateStrategy string = 'Recreate'

@description('public: anyone can read. entra: App Service authentication allows only accounts of this tenant.')
@allowed([
  'public'
  'entra'
])
param authMode string = 'public'

@description('The app registration for entra. The hook before provisioning creates it and sets this value.')
param authClientId string = ''

@description('Addresses (CIDR) that may deploy packages to the apps. Empty for any address with a token.')
param scmAllowedAddresses string = ''

@description('Let browsers upload large files directly to the archives\' account, with a signed address. With the virtual network, this opens that account to the internet.')
param directUploads bool = false

@description('Settings of the app, by name. An empty value keeps the current value or the app\'s default.')
param appSettings object = {}

// Secret settings of the app, stored in the vault. An empty value keeps the current value. Each is a separate parameter,
// because azd resolves references of `azd env set-secret` only in strings, not in an object.
@description('The key that signs the links of e-mail digests.')
@secure()
param emailSecret string = ''

@description('The key of an embedding service.')
@secure()
param embeddingApiKey string = ''

@description('The key of the page /operator.')
@secure()
param operatorKey string = ''

@description('The mail server, with its login.')
@secure()
param smtpUrl string = ''

@description('The key of a service that writes summaries.')
@secure()
param summaryApiKey string = ''

@description('The list of webhooks in base64, because azd cannot pass on its quotes.')
@secure()
param webhooksBase64 string = ''

@description('Passwords and tokens of sources, in base64: a JSON object with names that start with SOURCE_SECRET_.')
@secure()
param sourceSecretsBase64 string = ''

@description('Do not set this. Only a default value may read the time.')
param currentMonth string = utcNow('yyyy-MM')

var token = toLower(uniqueString(subscription().id, environmentName, location))
var tags = {
  'azd-env-name': environmentName
  application: 'rough-consensus'
}
// any(): each is an entry of the file, which is selected at deployment time.
var profileValues = any(loadJsonContent('profiles.json'))[profile]
var regionValues = any(loadJsonContent('regions.json'))[location]
var hasZones = regionValues.zones
var redundancy = profileValues.zoneRedundant && hasZones ? 'Standard_ZRS' : 'Standard_LRS'
var samplingRatio = empty(telemetrySamplingRatio) ? profileValues.telemetrySamplingRatio : telemetrySamplingRatio
var archives = 'archives'
var deadLetters = 'dead-letters'
var warmInstances = embeddingAlwaysReady < 0 ? profileValues.embeddingAlwaysReady : embeddingAlwaysReady
var warmEmbedding = {
  name: 'function:embedding'
  instanceCount: warmInstances
}
var firstDayOfBudget = empty(budgetStartDate) ? '${currentMonth}-01T00:00:00Z' : budgetStartDate
var web = {
  id: webIdentity.outputs.principalId
  type: 'ServicePrincipal'
}
var worker = {
  id: workerIdentity.outputs.principalId
  type: 'ServicePrincipal'
}
var apps = [
  web
  worker
]
var operator = {
  id: operatorPrincipalId
  type: operatorPrincipalType
}
var deployer = {
  id: deployerPrincipalId
  type: deployerPrincipalType
}
// A pipeline deploys but does not operate. A person who deploys also operates.
var isDeployerOperator = empty(operatorPrincipalId) && !empty(deployerPrincipalId) && deployerPrincipalType == 'User'
var namedOperators = empty(operatorPrincipalId) ? [] : [operator]
var operators = isDeployerOperator ? [deployer] : namedOperators
var principals = concat(apps, operators)
var isDeployerListed = empty(deployerPrincipalId) || isDeployerOperator || deployerPrincipalId == operatorPrincipalId
var indexMakers = isDeployerListed ? operators : concat(operators, [deployer])
var appSubnetId = vnetEnabled ? network!.outputs.appSubnetId : ''
var endpointSubnetId = vnetEnabled ? network!.outputs.endpointSubnetId : ''

var webName = 'web-${token}'
var workerName = 'worker-${token}'
var vaultName = 'kv-${token}'
// any(): an object with names that only the deployer knows.
var sourceSecrets = empty(sourceSecretsBase64) ? {} : any(json(base64ToString(sourceSecretsBase64)))
var secrets = union(sourceSecrets, {
  EMAIL_SECRET: emailSecret
  EMBEDDING_API_KEY: embeddingApiKey
  OPERATOR_KEY: operatorKey
  SMTP_URL: smtpUrl
  SUMMARY_API_KEY: summaryApiKey
  WEBHOOKS: webhooksBase64
})
var givenSecrets = map(filter(items(secrets), secret => !empty(secret.value)), secret => secret.key)
// Only the web app needs the operator's key. Only the worker sends mail, calls webhooks and fetches from sources.
var ofWebAlone = [
  'OPERATOR_KEY'
]
var ofWorkerAlone = concat(objectKeys(sourceSecrets), [
  'SMTP_URL'
  'WEBHOOKS'
])
var webSecrets = filter(givenSecrets, name => !contains(ofWorkerAlone, name))
var workerSecrets = filter(givenSecrets, name => !contains(ofWebAlone, name))
var allReferences = toObject(
  givenSecrets,
  name => name,
  name => '@Microsoft.KeyVault(VaultName=${vaultName};SecretName=${replace(name, '_', '-')})'
)
var givenSettings = filter(items(appSettings), setting => !empty(setting.value))
var chosenSettings = toObject(givenSettings, setting => setting.key, setting => setting.value)
var publicUrl = contains(chosenSettings, 'PUBLIC_URL') ? chosenSettings.PUBLIC_URL : ''
var ownOrigin = 'https://${webName}.azurewebsites.net'
var publicOrigin = join(take(split(publicUrl, '/'), 3), '/')
var uploadOrigins = empty(publicUrl) ? [ownOrigin] : concat([ownOrigin], [publicOrigin])
var defaultSettings = {
  RETRY_JOB_INTERVAL_SECONDS: '900' // the sweep's schedule reads it, and has no default
}
var settings = {
  AUTH_MODE: authMode
  COSMOS_DATABASE: cosmos.outputs.databaseName
  COSMOS_ENDPOINT: cosmos.outputs.endpoint
  DIRECT_UPLOADS: string(directUploads)
  SEARCH_ENDPOINT: search.outputs.endpoint
  SERVICEBUS_CONNECTION__fullyQualifiedNamespace: serviceBus.outputs.fullyQualifiedNamespace
  STORAGE_BLOB_ENDPOINT: storage.outputs.blobEndpoint
  TELEMETRY_SAMPLING_RATIO: samplingRatio
}
var modelSettings = {
  SUMMARY_BACKEND: 'azureopenai'
  SUMMARY_ENDPOINT: openAi!.outputs.endpoint
  SUMMARY_MODEL: openAi!.outputs.deploymentName
}

var appSettingsOfBoth = union(defaultSettings, chosenSettings, openAiEnabled ? modelSettings : {}, settings)
var scmAllowed = empty(scmAllowedAddresses) ? [] : split(scmAllowedAddresses, ',')

resource group 'Microsoft.Resources/resourceGroups@2025-04-01' = {
  name: empty(resourceGroupName) ? 'rg-${environmentName}' : resourceGroupName
  location: location
  tags: tags
}

module webIdentity '../bicep/identity.bicep' = {
  name: 'identity-web'
  scope: group
  params: {
    name: 'id-web-${token}'
    location: location
    tags: tags
  }
}

module workerIdentity '../bicep/identity.bicep' = {
  name: 'identity-worker'
  scope: group
  params: {
    name: 'id-worker-${token}'
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
    publishers: apps
    readers: operators
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
    workerPrincipalId: workerIdentity.outputs.principalId
    principals: concat([web], operators)
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
    databaseName: cosmosDatabase
    mode: cosmosMode
    maxThroughput: cosmosMaxThroughput
    principals: principals
    endpointSubnetId: endpointSubnetId
    workspaceId: monitoring.outputs.workspaceId
    logsAccess: dataAccessLogs || authMode == 'entra'
  }
}

module search '../bicep/search.bicep' = {
  name: 'search'
  scope: group
  params: {
    name: 'search-${token}'
    location: location
    tags: tags
    sku: any(empty(searchSku) ? profileValues.searchSku : searchSku)
    replicas: searchReplicas
    partitions: searchPartitions
    readerPrincipalId: webIdentity.outputs.principalId
    writerPrincipalId: workerIdentity.outputs.principalId
    indexMakers: indexMakers
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
    // any(): the module does not accept an empty value, so it is replaced.
    sku: any(empty(storageSku) ? redundancy : storageSku)
    containers: [
      archives
      deadLetters
    ]
    readers: [
      {
        container: deadLetters
        id: webIdentity.outputs.principalId
      }
    ]
    writers: concat(
      [
        {
          container: archives
          principal: web
        }
        {
          container: archives
          principal: worker
        }
        {
          container: deadLetters
          principal: worker
        }
      ],
      flatten(map(operators, each => [
        {
          container: archives
          principal: each
        }
        {
          container: deadLetters
          principal: each
        }
      ]))
    )
    coolAfterDays: coolAfterDays
    restorableDays: restorableDays
    endpointSubnetId: endpointSubnetId
    incomingPrefix: '${archives}/incoming/'
    uploadOrigins: directUploads ? uploadOrigins : []
    signerPrincipalId: webIdentity.outputs.principalId
    workspaceId: monitoring.outputs.workspaceId
    logsAccess: dataAccessLogs || authMode == 'entra'
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
    users: apps
    endpointSubnetId: endpointSubnetId
  }
}

module vault '../bicep/key-vault.bicep' = {
  name: 'key-vault'
  scope: group
  params: {
    name: vaultName
    location: location
    tags: tags
    names: givenSecrets
    secrets: secrets
    purgeProtection: empty(purgeProtection) ? profileValues.purgeProtection : purgeProtection == 'true'
    readers: concat(
      map(webSecrets, name => {
        secret: name
        principal: web
      }),
      map(workerSecrets, name => {
        secret: name
        principal: worker
      })
    )
    endpointSubnetId: endpointSubnetId
    workspaceId: monitoring.outputs.workspaceId
  }
}

module webApp '../bicep/function-app.bicep' = {
  name: 'web'
  scope: group
  // References are resolved when the app starts, so the secret and its role must exist first.
  dependsOn: [
    vault
  ]
  params: {
    name: webName
    planName: 'plan-web-${token}'
    storageName: 'stweb${token}'
    location: location
    tags: tags
    part: 'web'
    identityId: webIdentity.outputs.id
    identityClientId: webIdentity.outputs.clientId
    identityPrincipalId: webIdentity.outputs.principalId
    componentName: monitoring.outputs.componentName
    instanceMemoryMB: instanceMemoryMB
    maximumInstanceCount: webInstanceCount
    httpConcurrency: httpConcurrency
    alwaysReady: []
    updateStrategy: siteUpdateStrategy
    scmAllowedAddresses: scmAllowed
    authClientId: authMode == 'entra' ? authClientId : ''
    appSubnetId: appSubnetId
    endpointSubnetId: endpointSubnetId
    workspaceId: monitoring.outputs.workspaceId
    settings: appSettingsOfBoth
    vaultReferences: toObject(webSecrets, name => name, name => allReferences[name])
  }
}

module workerApp '../bicep/function-app.bicep' = {
  name: 'worker'
  scope: group
  // References are resolved when the app starts, so the secret and its role must exist first.
  dependsOn: [
    vault
  ]
  params: {
    name: workerName
    planName: 'plan-worker-${token}'
    storageName: 'stwork${token}'
    location: location
    tags: tags
    part: 'worker'
    identityId: workerIdentity.outputs.id
    identityClientId: workerIdentity.outputs.clientId
    identityPrincipalId: workerIdentity.outputs.principalId
    componentName: monitoring.outputs.componentName
    instanceMemoryMB: instanceMemoryMB
    maximumInstanceCount: workerInstanceCount
    httpConcurrency: httpConcurrency
    alwaysReady: warmInstances == 0 ? [] : [warmEmbedding]
    updateStrategy: siteUpdateStrategy
    scmAllowedAddresses: scmAllowed
    authClientId: ''
    appSubnetId: appSubnetId
    endpointSubnetId: endpointSubnetId
    workspaceId: monitoring.outputs.workspaceId
    settings: appSettingsOfBoth
    vaultReferences: toObject(workerSecrets, name => name, name => allReferences[name])
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
    chosen: profileValues.alerts
    workspaceId: monitoring.outputs.workspaceId
    serviceBusId: serviceBus.outputs.id
    cosmosId: cosmos.outputs.id
    componentId: monitoring.outputs.componentId
    healthUrl: '${webApp.outputs.uri}/api/health'
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
    name: take('${environmentName}-monthly', 63)
    amount: budgetAmount
    startDate: firstDayOfBudget
    contactEmails: empty(alertEmail) ? [] : [alertEmail]
    actionGroupId: alerts.outputs.actionGroupId
  }
}

// The values for `azd env get-values` and the hooks. They do not include a key, because there is none.
output AZURE_LOCATION string = location
output AZURE_RESOURCE_GROUP string = group.name
output AZURE_FUNCTION_APP_NAME string = webApp.outputs.name
output AZURE_WORKER_APP_NAME string = workerApp.outputs.name
output WEB_PRINCIPAL_ID string = webIdentity.outputs.principalId
output APP_URI string = webApp.outputs.uri
output BUDGET_START_DATE string = budgetAmount > 0 ? firstDayOfBudget : budgetStartDate
output COSMOS_DATABASE string = cosmos.outputs.databaseName
output COSMOS_ENDPOINT string = cosmos.outputs.endpoint
output LOG_WORKSPACE_ID string = monitoring.outputs.queryId
output SEARCH_ENDPOINT string = search.outputs.endpoint
output SERVICEBUS_CONNECTION__fullyQualifiedNamespace string = serviceBus.outputs.fullyQualifiedNamespace
output STORAGE_BLOB_ENDPOINT string = storage.outputs.blobEndpoint
output WORKBOOK_ID string = workbook.outputs.id
