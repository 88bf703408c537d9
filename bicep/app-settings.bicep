metadata description = 'The app settings: the deployment\'s settings and manual additions, without settings of earlier deployments.'

param appName string

@description('The settings before this deployment.')
@secure()
param present object

@description('The settings of this deployment.')
param settings object

@description('References to the vault. Earlier settings stay if this deployment has none.')
param vaultReferences object

// Names that the previous deployment set. Names that this deployment no longer sets are removed.
var before = split(present.?DEPLOYED_SETTINGS ?? '', ',')
var added = filter(items(present), setting => !contains(before, setting.key))

resource app 'Microsoft.Web/sites@2024-11-01' existing = {
  name: appName
}

resource appSettings 'Microsoft.Web/sites/config@2024-11-01' = {
  parent: app
  name: 'appsettings'
  properties: union(
    toObject(added, setting => setting.key, setting => setting.value),
    vaultReferences,
    settings,
    {
      DEPLOYED_SETTINGS: join(objectKeys(settings), ',')
    }
  )
}
