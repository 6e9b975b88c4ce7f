import { randomUUID } from 'node:crypto'
import type { Installation } from '@slack/oauth'
import { type Json, type JsonObject, textAt } from '../../../src/core/json.ts'
import type { Install, TransportDeps } from '../../../src/core/transport.ts'
import { defined } from '../../../src/lib/defined.ts'
import { pause } from '../../../src/lib/pause.ts'
import { createSlackApi, type SlackApi, slackFailure } from '../api.ts'
import type { OAuthOptions, SlackOptions } from '../options.ts'
import { createOAuth } from './oauth.ts'
import { createInstallRecords, type Installed, installedSchema, type Kept } from './records.ts'

/** Seconds before expiry at which tokens are renewed, as in InstallProvider. */
const EARLY = 7200
/** Lease of a renewal and pause after a failure (ms). */
const LEASE = 30_000
/** How long and how often (ms) to check whether another daemon has renewed an expired token. */
const PATIENCE = 1500
const LOOK = 50

/** Events that end an installation; Slack usually sends both. */
export const ENDING = /^(app_uninstalled|tokens_revoked)$/

/**
 * OAuth installations of an app, by workspace or organisation id, for all daemons. `changed` is called for installations and removals
 * made here.
 */
export function createInstalls(
  oauth: OAuthOptions,
  options: Pick<SlackOptions, 'api-url'>,
  deps: TransportDeps,
  changed: (id: string) => void,
) {
  const { leases, log, now } = deps
  const records = createInstallRecords(deps, oauth['state-secret'] ?? oauth['client-secret'])
  const { serve, renew } = createOAuth(oauth, options, deps)

  const install = async (made: Json): Promise<void> => {
    const { data } = installedSchema.safeParse(made)
    const place = data && placeOf(data)
    if (!data || !place) throw new Error('Slack gave no bot token; `scopes` must make the app a bot')
    await records.write(place.id, { at: now(), installation: data })
    changed(place.id)
    log.info({ team: place.id, name: place.name }, 'the app was installed')
  }

  /** Renews the tokens of an installation, unless it was changed meanwhile. */
  const renewKept = (id: string, { at, installation, version }: Kept) =>
    renew(id, installation, (made) =>
      records.write(id, { at, installation: installedSchema.parse(made) }, version),
    )

  /** Remaining lifetime of a token, in seconds. */
  const leftOf = ({ expiresAt = Number.POSITIVE_INFINITY }: { expiresAt?: number | undefined }) =>
    expiresAt - now() / 1000

  return {
    /** Serves the installation pages until the result is called. Throws `config_invalid` if a path is taken. */
    serve: () => serve(install),
    /** An installation with valid tokens, which one daemon renews in time. Undefined if there is none. */
    async find(id: string): Promise<Installed | undefined> {
      for (const late = AbortSignal.timeout(PATIENCE); ; ) {
        const kept = await records.read(id)
        if (!kept) return undefined
        const [bot, user] = [leftOf(kept.installation.bot), leftOf(kept.installation.user)]
        // A revoked user token just expires, and does not block others.
        if (bot > EARLY && (user > EARLY || user < 0)) return kept.installation
        // Not released after a failure, which would cause an immediate retry.
        if (await leases.acquire(`${records.nameOf(id)}/renewal`, randomUUID(), LEASE))
          await renewKept(id, kept)
        else if (bot > 0 || late.aborted) return kept.installation
        else await pause(LOOK)
      }
    },
    ids: records.ids,
    /** Removes an installation after an event reported its end. */
    async heard(payload: JsonObject, { team, api }: { team: string; api: SlackApi }): Promise<void> {
      const type = textAt(payload, 'event.type') ?? ''
      const isOver = type === 'app_uninstalled' || textAt(payload, 'event.tokens.bot.0') !== undefined
      if (!isOver || !ENDING.test(type)) return
      const isAlive = () => api.auth.test().catch((error) => !slackFailure(error).isToken)
      // Slack may report the end of an earlier installation late, and in whole seconds.
      if ((Number(payload.event_time) + 1) * 1000 <= ((await records.read(team))?.at ?? 0)) return
      // Only one workspace of the organisation may have left.
      if (team.startsWith('E') && (await isAlive())) return
      await records.remove(team)
      log.info({ team }, 'the app was removed')
    },
    async list(): Promise<Install[]> {
      return Promise.all((await records.ids()).map(async (id) => describe(id, await records.read(id))))
    },
    /** `Transport.installs`. */
    async remove(id: string): Promise<boolean> {
      const { bot, user } = (await records.read(id))?.installation ?? {}
      const failed = (error: unknown) =>
        log.warn({ team: id, reason: slackFailure(error).reason }, 'a token could not be revoked')
      for (const token of [user?.token, bot?.token]) {
        if (token) await createSlackApi(token, options, deps).auth.revoke().catch(failed)
      }
      const existed = await records.remove(id)
      changed(id)
      return existed
    },
  }
}

function describe(team: string, { at, installation }: Partial<Kept> = {}): Install {
  if (!installation) return { team, name: 'cannot be read: it was stored with another `state-secret`' }
  return defined({ team, name: placeOf(installation)?.name, at, by: installation.user.id })
}

/** The workspace or organisation of an installation. */
export function placeOf(installation: Installation): { id: string; name?: string } | undefined {
  return installation.isEnterpriseInstall ? installation.enterprise : installation.team
}
