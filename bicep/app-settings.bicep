metadata description = 'The app settings: ours laid over those that somebody added, and without ours of before.'

param appName string

@description('What is set now, before this deployment.')
@secure()
param present object

@description('What this deployment sets.')
param settings object

@description('References into the vault. What was set before stays where this deployment has none.')
param vaultReferences object

// Names that the deployment before this one set: what it set and this one does not is taken back.
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
