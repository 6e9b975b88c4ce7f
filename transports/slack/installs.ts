import { randomUUID } from 'node:crypto'
import type { Installation } from '@slack/oauth'
import { z } from 'zod'
import { type Json, type JsonObject, parseJson, textAt, toJson } from '../../src/core/json.ts'
import type { Install, TransportDeps } from '../../src/core/transport.ts'
import { defined } from '../../src/lib/defined.ts'
import { peerOf } from '../../src/lib/http.ts'
import { pause } from '../../src/lib/pause.ts'
import { createVault } from '../../src/lib/vault.ts'
import { clientOptions, createSlackApi, type SlackApi, slackFailure } from './api.ts'
import type { OAuthOptions, SlackOptions } from './options.ts'

/** Seconds before expiry at which tokens are renewed, as in InstallProvider. */
const EARLY = 7200
/** Lease of a renewal and pause after a failure (ms). */
const LEASE = 30_000
/** How long and how often (ms) to check whether another daemon has renewed an expired token. */
const PATIENCE = 1500
const LOOK = 50
const MOST = 10_000

/** Events that end an installation; Slack usually sends both. */
export const ENDING = /^(app_uninstalled|tokens_revoked)$/

type Installed = Installation & Required<Pick<Installation, 'bot'>>

/** `at`: when it was installed (Unix ms). */
const recordSchema = z.object({
  at: z.number(),
  installation: z.custom<Installed>((value) => textAt(value, 'bot.token') !== undefined),
})

type Kept = z.infer<typeof recordSchema> & { version: number }

/**
 * OAuth installations of an app (https://docs.slack.dev/authentication/installing-with-oauth), by workspace or organisation id, encrypted
 * in the store for all daemons. `changed` is called for installations and removals made here.
 */
export function createInstalls(
  oauth: OAuthOptions,
  options: Pick<SlackOptions, 'apiUrl'>,
  deps: TransportDeps,
  changed: (id: string) => void,
) {
  const { gateway, kv, leases, log, http, now, refused } = deps
  const { clientId, clientSecret, stateSecret = clientSecret, scopes, userScopes, redirectUri, path } = oauth
  const prefix = `slack/${gateway}/install/`
  const vault = createVault(stateSecret, 'trivium slack installations')
  const write = (id: string, record: z.infer<typeof recordSchema>, ifVersion?: number) =>
    kv.set(prefix + id, vault.close(JSON.stringify(record)), defined({ ifVersion }))

  const read = async (id: string) => {
    const kept = await kv.get(prefix + id)
    const text = typeof kept?.value === 'string' ? vault.open(kept.value) : undefined
    const { data } = recordSchema.safeParse(parseJson(text ?? ''))
    return kept && data && { ...data, version: kept.version }
  }

  /** Slack's own flow, which passes its result to `store`, and renews the tokens of `known`. */
  const provider = async (store: (installation: Json) => Promise<void>, known?: Installed) => {
    const { InstallProvider } = await import('@slack/oauth')
    const { logger, ...client } = clientOptions(options, log)
    return new InstallProvider({
      ...defined({ clientId, clientSecret, stateSecret, logger, clientOptions: client }),
      authorizationUrl: new URL('/oauth/v2/authorize', options.apiUrl).href,
      directInstall: true,
      installUrlOptions: defined({ scopes, userScopes, redirectUri }),
      installationStore: {
        storeInstallation: (installation) => store(toJson(installation)),
        fetchInstallation: async () => known ?? Promise.reject(new Error('it is not installed')),
      },
    })
  }

  const install = async (made: Json) => {
    const { data } = recordSchema.shape.installation.safeParse(made)
    const place = data && placeOf(data)
    if (!data || !place) throw new Error('Slack gave no bot token; `scopes` must make the app a bot')
    await write(place.id, { at: now(), installation: data })
    changed(place.id)
    log.info({ team: place.id, name: place.name }, 'the app was installed')
  }

  /** Renews tokens. InstallProvider keeps those it cannot renew. Installations changed meanwhile are not overwritten. */
  const renew = async (id: string, { at, installation: known, version }: Kept) => {
    const store = async (made: Json) =>
      void (await write(id, { at, installation: recordSchema.shape.installation.parse(made) }, version))
    const { authorize } = await provider(store, known)
    await authorize({ teamId: id, enterpriseId: undefined, isEnterpriseInstall: false })
  }

  /** For how many seconds a token is good. */
  const leftOf = ({ expiresAt = Number.POSITIVE_INFINITY }: { expiresAt?: number | undefined }) =>
    expiresAt - now() / 1000

  const ids = async () => (await kv.list(prefix, MOST)).map((key) => key.slice(prefix.length))

  return {
    /** Serves the pages of an installation until the function is called. Throws `config_invalid` where a path is taken. */
    serve(): () => void {
      const pages = [
        http.mount(`${path}/install`, async (request, response) =>
          (await provider(install)).handleInstallPath(request, response),
        ),
        http.mount(`${path}/oauth_redirect`, async (request, response) => {
          const { defaultCallbackFailure } = await import('@slack/oauth')
          await (await provider(install)).handleCallback(request, response, {
            failure(error, ...asked) {
              refused('install_failed', { from: peerOf(request), why: error.message })
              defaultCallbackFailure(error, ...asked)
            },
          })
        }),
      ]
      return () => {
        for (const end of pages) end()
      }
    },
    /** Its tokens are good for a while: one daemon renews them in time. Undefined: nobody installed the app there. */
    async find(id: string): Promise<Installed | undefined> {
      for (const late = AbortSignal.timeout(PATIENCE); ; ) {
        const kept = await read(id)
        if (!kept) return undefined
        const [bot, user] = [leftOf(kept.installation.bot), leftOf(kept.installation.user)]
        // A revoked user token just expires, and does not block others.
        if (bot > EARLY && (user > EARLY || user < 0)) return kept.installation
        // Not released after a failure, which would cause an immediate retry.
        if (await leases.acquire(`${prefix}${id}/renewal`, randomUUID(), LEASE)) await renew(id, kept)
        else if (bot > 0 || late.aborted) return kept.installation
        else await pause(LOOK)
      }
    },
    ids,
    /** Removes an installation after an event says that it ended. */
    async heard(payload: JsonObject, { team, api }: { team: string; api: SlackApi }): Promise<void> {
      const type = textAt(payload, 'event.type') ?? ''
      const isOver = type === 'app_uninstalled' || textAt(payload, 'event.tokens.bot.0') !== undefined
      if (!isOver || !ENDING.test(type)) return
      const isAlive = () => api.auth.test().catch((error) => !slackFailure(error).isToken)
      // Slack may report the end of an earlier installation late, and in whole seconds.
      if ((Number(payload.event_time) + 1) * 1000 <= ((await read(team))?.at ?? 0)) return
      // Only one workspace of the organisation may have left.
      if (team.startsWith('E') && (await isAlive())) return
      await kv.delete(prefix + team)
      log.info({ team }, 'the app was removed')
    },
    async list(): Promise<Install[]> {
      const describe = async (id: string): Promise<Install> => {
        const { at, installation } = (await read(id)) ?? {}
        if (!installation) return { team: id, name: 'cannot be read: another `stateSecret`' }
        return defined({ team: id, name: placeOf(installation)?.name, at, by: installation.user.id })
      }
      return Promise.all((await ids()).map(describe))
    },
    /** `Transport.installs`. */
    async remove(id: string): Promise<boolean> {
      const { bot, user } = (await read(id))?.installation ?? {}
      const failed = (error: unknown) =>
        log.warn({ team: id, reason: slackFailure(error).reason }, 'a token could not be revoked')
      for (const token of [user?.token, bot?.token]) {
        if (token) await createSlackApi(token, options, deps).auth.revoke().catch(failed)
      }
      const existed = await kv.delete(prefix + id)
      changed(id)
      return existed
    },
  }
}

/** The workspace or organisation of an installation. */
export function placeOf(installation: Installation): { id: string; name?: string } | undefined {
  return installation.isEnterpriseInstall ? installation.enterprise : installation.team
}
