import { type Json, toJson } from '../../../src/core/json.ts'
import type { TransportDeps } from '../../../src/core/transport.ts'
import { defined } from '../../../src/lib/defined.ts'
import { peerOf } from '../../../src/lib/http.ts'
import { clientOptions } from '../api.ts'
import type { OAuthOptions, SlackOptions } from '../options.ts'
import type { Installed } from './records.ts'

/** Stores a new installation, or one with renewed tokens. */
type Store = (installation: Json) => Promise<void>

/** Slack's OAuth flow (https://docs.slack.dev/authentication/installing-with-oauth). */
export function createOAuth(
  oauth: OAuthOptions,
  options: Pick<SlackOptions, 'api-url'>,
  { log, http, refused }: Pick<TransportDeps, 'log' | 'http' | 'refused'>,
) {
  const { scopes, path, 'client-id': clientId, 'client-secret': clientSecret } = oauth
  const { 'state-secret': stateSecret = clientSecret } = oauth
  const { 'user-scopes': userScopes, 'redirect-uri': redirectUri } = oauth
  const provider = async (store: Store, existing?: Installed) => {
    const { InstallProvider } = await import('@slack/oauth')
    const { logger, ...client } = clientOptions(options, log)
    return new InstallProvider({
      ...defined({ clientId, clientSecret, stateSecret, logger, clientOptions: client }),
      authorizationUrl: new URL('/oauth/v2/authorize', options['api-url']).href,
      directInstall: true,
      installUrlOptions: defined({ scopes, userScopes, redirectUri }),
      installationStore: {
        storeInstallation: (installation) => store(toJson(installation)),
        fetchInstallation: async () => existing ?? Promise.reject(new Error('it is not installed')),
      },
    })
  }

  return {
    /**
     * Serves the installation pages until the returned function is called. Throws `config_invalid`
     * if a path is taken.
     */
    serve(store: Store): () => void {
      const pages = [
        http.mount(`${path}/install`, async (request, response) =>
          (await provider(store)).handleInstallPath(request, response),
        ),
        http.mount(`${path}/oauth_redirect`, async (request, response) => {
          const { defaultCallbackFailure } = await import('@slack/oauth')
          await (await provider(store)).handleCallback(request, response, {
            failure(error, ...args) {
              refused('install_failed', { from: peerOf(request), why: error.message })
              defaultCallbackFailure(error, ...args)
            },
          })
        }),
      ]
      return () => {
        for (const unmount of pages) unmount()
      }
    },
    /** Renews the tokens of an installation. InstallProvider keeps those that it cannot renew. */
    async renew(id: string, existing: Installed, store: Store): Promise<void> {
      const { authorize } = await provider(store, existing)
      await authorize({ teamId: id, enterpriseId: undefined, isEnterpriseInstall: false })
    },
  }
}
