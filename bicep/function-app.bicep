metadata description = 'A function app on Flex Consumption, with its own plan and storage account.'

param name string
param planName string
param storageName string
param location string
param tags object

@description('The app\'s functions: web answers requests, worker runs the stages and timers. azure.yaml has a service of this name.')
@allowed([
  'web'
  'worker'
])
param part string

param identityId string
param identityClientId string
param identityPrincipalId string

@description('The telemetry resource, which has the address for the app.')
param componentName string

@description('The app\'s own settings: addresses and names, never keys.')
param settings object

@description('References to the vault, by setting name.')
param vaultReferences object

@allowed([
  512
  2048
  4096
])
param instanceMemoryMB int

@minValue(1)
@maxValue(1000)
param maximumInstanceCount int

@description('Concurrent requests per instance.')
@minValue(1)
@maxValue(1000)
param httpConcurrency int

@description('Functions with always-ready instances: { name: \'function:<name>\' or \'http\', instanceCount }.')
param alwaysReady array

@description('Recreate stops running functions at an update. RollingUpdate (preview) drains instances first.')
param updateStrategy string

@description('Addresses (CIDR) that may deploy packages. Empty for any address with a token.')
param scmAllowedAddresses array

@description('The app registration for sign-in. Empty for an app without App Service authentication.')
param authClientId string

param appSubnetId string
param endpointSubnetId string
param workspaceId string

var roles = loadJsonContent('../infra/roles.json')
var zones = loadJsonContent('../infra/private-zones.json')
var isPrivate = !empty(endpointSubnetId)
var packages = 'app-package'
// The paths without authentication: the deployment check, and the feeds, whose secret addresses authorize.
var openPaths = [
  '/api/health'
  '/feeds/private/*'
]

// The host's data in its storage: leases and keys in blobs, and the state of timers and poison queues.
var hostRoles = [
  'Storage Blob Data Owner'
  'Storage Queue Data Contributor'
  'Storage Table Data Contributor'
]
var hostDoors = isPrivate ? ['blob', 'queue', 'table'] : []

var platformSettings = {
  APP_PART: part
  APPLICATIONINSIGHTS_AUTHENTICATION_STRING: 'ClientId=${identityClientId};Authorization=AAD'
  APPLICATIONINSIGHTS_CONNECTION_STRING: component.properties.ConnectionString
  AZURE_CLIENT_ID: identityClientId
  AzureWebJobsDisableHomepage: 'true' // the app's own page is at /
  AzureWebJobsStorage__accountName: storage.name
  AzureWebJobsStorage__clientId: identityClientId
  AzureWebJobsStorage__credential: 'managedidentity'
  // The worker passes on the host's trace. The app sets up the exporter itself.
  PYTHON_ENABLE_OPENTELEMETRY: 'true'
  SERVICEBUS_CONNECTION__clientId: identityClientId
  SERVICEBUS_CONNECTION__credential: 'managedidentity'
}

var scmRules = map(scmAllowedAddresses, address => {
  name: 'deploy'
  action: 'Allow'
  priority: 100
  ipAddress: address
})
// An assertion of the app's identity replaces a secret of the registration (infra/hooks/registration.py).
var authSettings = empty(authClientId)
  ? {}
  : {
      OVERRIDE_USE_MI_FIC_ASSERTION_CLIENTID: identityClientId
      WEBSITE_AUTH_AAD_ALLOWED_TENANTS: tenant().tenantId
    }

resource component 'Microsoft.Insights/components@2020-02-02' existing = {
  name: componentName
}

resource storage 'Microsoft.Storage/storageAccounts@2025-01-01' = {
  name: storageName
  location: location
  tags: tags
  kind: 'StorageV2'
  sku: {
    name: 'Standard_LRS'
  }
  properties: {
    allowBlobPublicAccess: false
    allowCrossTenantReplication: false
    allowSharedKeyAccess: false
    defaultToOAuthAuthentication: true
    minimumTlsVersion: 'TLS1_2'
    supportsHttpsTrafficOnly: true
    publicNetworkAccess: isPrivate ? 'Disabled' : 'Enabled'
    networkAcls: {
      bypass: 'None'
      defaultAction: isPrivate ? 'Deny' : 'Allow'
    }
  }
}

resource blobs 'Microsoft.Storage/storageAccounts/blobServices@2025-01-01' = {
  parent: storage
  name: 'default'
}

resource packageContainer 'Microsoft.Storage/storageAccounts/blobServices/containers@2025-01-01' = {
  parent: blobs
  name: packages
  properties: {
    publicAccess: 'None'
  }
}

resource hostAccess 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for role in hostRoles: {
    name: guid(storage.id, identityPrincipalId, roles[role])
    scope: storage
    properties: {
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roles[role])
      principalId: identityPrincipalId
      principalType: 'ServicePrincipal'
    }
  }
]

module endpoint 'private-endpoint.bicep' = [
  for door in hostDoors: {
    name: '${part}-storage-${door}'
    params: {
      name: '${storageName}-${door}-endpoint'
      location: location
      tags: tags
      subnetId: endpointSubnetId
      serviceId: storage.id
      group: door
      zoneName: zones[door]
    }
  }
]

resource plan 'Microsoft.Web/serverfarms@2024-11-01' = {
  name: planName
  location: location
  tags: tags
  kind: 'functionapp'
  sku: {
    name: 'FC1'
    tier: 'FlexConsumption'
  }
  properties: {
    reserved: true
  }
}

resource app 'Microsoft.Web/sites@2024-11-01' = {
  name: name
  location: location
  tags: union(tags, {
    'azd-service-name': part
  })
  kind: 'functionapp,linux'
  identity: {
    type: 'UserAssigned'
    userAssignedIdentities: {
      '${identityId}': {}
    }
  }
  // The host needs its identity's roles at startup.
  dependsOn: [
    hostAccess
    endpoint
  ]
  properties: {
    serverFarmId: plan.id
    httpsOnly: true
    keyVaultReferenceIdentity: identityId
    virtualNetworkSubnetId: empty(appSubnetId) ? null : appSubnetId
    // any(): the types of this version lack siteUpdateStrategy, which the service supports.
    functionAppConfig: any({
      siteUpdateStrategy: {
        type: updateStrategy
      }
      deployment: {
        storage: {
          type: 'blobContainer'
          value: '${storage.properties.primaryEndpoints.blob}${packageContainer.name}'
          authentication: {
            type: 'UserAssignedIdentity'
            userAssignedIdentityResourceId: identityId
          }
        }
      }
      runtime: {
        name: 'python'
        version: '3.13'
      }
      scaleAndConcurrency: {
        instanceMemoryMB: instanceMemoryMB
        maximumInstanceCount: maximumInstanceCount
        alwaysReady: alwaysReady
        triggers: {
          http: {
            perInstanceConcurrency: httpConcurrency
          }
        }
      }
    })
    siteConfig: {
      ftpsState: 'Disabled'
      scmIpSecurityRestrictionsUseMain: false
      scmIpSecurityRestrictionsDefaultAction: empty(scmAllowedAddresses) ? 'Allow' : 'Deny'
      scmIpSecurityRestrictions: scmRules
      http20Enabled: true
      minTlsVersion: '1.2'
    }
  }
}

// A deployment replaces all settings, so the existing settings are read first to keep manual additions.
module appSettings 'app-settings.bicep' = {
  name: '${part}-settings'
  params: {
    appName: app.name
    present: list('${app.id}/config/appsettings', '2024-11-01').properties
    settings: union(settings, platformSettings, authSettings)
    vaultReferences: vaultReferences
  }
}

resource authentication 'Microsoft.Web/sites/config@2024-11-01' = if (!empty(authClientId)) {
  parent: app
  name: 'authsettingsV2'
  dependsOn: [
    appSettings
  ]
  properties: {
    platform: {
      enabled: true
      runtimeVersion: '~1'
    }
    globalValidation: {
      requireAuthentication: true
      unauthenticatedClientAction: 'RedirectToLoginPage'
      redirectToProvider: 'azureactivedirectory'
      excludedPaths: openPaths
    }
    httpSettings: {
      requireHttps: true
      forwardProxy: {
        convention: 'NoProxy'
      }
    }
    identityProviders: {
      azureActiveDirectory: {
        enabled: true
        registration: {
          clientId: authClientId
          clientSecretSettingName: 'OVERRIDE_USE_MI_FIC_ASSERTION_CLIENTID'
          openIdIssuer: '${environment().authentication.loginEndpoint}${tenant().tenantId}/v2.0'
        }
        validation: {
          allowedAudiences: [
            authClientId
            'api://${authClientId}'
          ]
        }
      }
    }
    login: {
      tokenStore: {
        enabled: false
      }
      preserveUrlFragmentsForLogins: false
    }
  }
}

// Publishing passwords stay disabled: azd deploys with the deployer's token.
resource ftpPasswords 'Microsoft.Web/sites/basicPublishingCredentialsPolicies@2024-11-01' = {
  parent: app
  name: 'ftp'
  properties: {
    allow: false
  }
}

resource scmPasswords 'Microsoft.Web/sites/basicPublishingCredentialsPolicies@2024-11-01' = {
  parent: app
  name: 'scm'
  properties: {
    allow: false
  }
}

resource diagnostics 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  name: 'to-workspace'
  scope: app
  properties: {
    workspaceId: workspaceId
    metrics: [
      {
        category: 'AllMetrics'
        enabled: true
      }
    ]
  }
}

output id string = app.id
output name string = app.name
output uri string = 'https://${app.properties.defaultHostName}'
