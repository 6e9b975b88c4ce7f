import { randomUUID } from 'node:crypto'
import type { Installation } from '@slack/oauth'
import { type Json, type JsonObject, textAt } from '../../../src/core/json.ts'
import type { Install, TransportDeps } from '../../../src/core/transport.ts'
import { defined } from '../../../src/lib/defined.ts'
import { pause } from '../../../src/lib/pause.ts'
import { createSlackApi, type SlackApi, slackFailure } from '../api.ts'
import type { OAuthOptions, SlackOptions } from '../options.ts'
import { createOAuth } from './oauth.ts'
import { createInstallRecords, type Installed, installedSchema, type StoredInstall } from './records.ts'

/** A token with less than this remaining lifetime is renewed, as in InstallProvider. */
const RENEWAL_SECONDS = 7_200
/** Lease of a renewal. After a failure it stays, as a pause before the next try. */
const LEASE_MS = 30_000
/** How long to wait until another daemon has renewed an expired token. */
const RENEWAL_WAIT_MS = 1_500
/** Pause between two checks in that time. */
const POLL_MS = 50

/** Events that end an installation; Slack usually sends both. */
export const END_EVENTS = /^(app_uninstalled|tokens_revoked)$/

/**
 * OAuth installations of an app, by workspace or organisation id, for all daemons. `changed` is
 * called for installations and removals made here.
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

  const install = async (installation: Json): Promise<void> => {
    const { data } = installedSchema.safeParse(installation)
    const place = data && placeOf(data)
    if (!data || !place) throw new Error('Slack gave no bot token; `scopes` must make the app a bot')
    await records.write(place.id, { at: now(), installation: data })
    changed(place.id)
    log.info({ team: place.id, name: place.name }, 'the app was installed')
  }

  /** Renews the tokens of an installation, unless it was changed meanwhile. */
  const renewStored = (id: string, { at, installation, version }: StoredInstall) =>
    renew(id, installation, (renewed) =>
      records.write(id, { at, installation: installedSchema.parse(renewed) }, version),
    )

  /** Remaining lifetime of a token, in seconds. */
  const secondsLeft = ({ expiresAt = Number.POSITIVE_INFINITY }: { expiresAt?: number | undefined }) =>
    expiresAt - now() / 1000

  return {
    /** Serves the installation pages. Returns a function to stop. May throw `config_invalid`. */
    serve: () => serve(install),
    /** An installation with valid tokens. Renews them in time, on one daemon only. */
    async find(id: string): Promise<Installed | undefined> {
      const timeout = AbortSignal.timeout(RENEWAL_WAIT_MS)
      while (true) {
        const stored = await records.read(id)
        if (!stored) return undefined
        const { installation } = stored
        const bot = secondsLeft(installation.bot)
        const user = secondsLeft(installation.user)
        // A user token that has expired was revoked. It is not renewed; the bot token still works.
        if (bot > RENEWAL_SECONDS && (user > RENEWAL_SECONDS || user < 0)) return installation
        // The lease is not released, so that a failure is not retried immediately.
        if (await leases.acquire(`${records.nameOf(id)}/renewal`, randomUUID(), LEASE_MS))
          await renewStored(id, stored)
        else if (bot > 0 || timeout.aborted) return installation
        else await pause(POLL_MS)
      }
    },
    ids: records.ids,
    /** Removes an installation if the event reports its end. */
    async handleEvent(payload: JsonObject, { team, api }: { team: string; api: SlackApi }): Promise<void> {
      const type = textAt(payload, 'event.type') ?? ''
      const isOver = type === 'app_uninstalled' || textAt(payload, 'event.tokens.bot.0') !== undefined
      if (!isOver || !END_EVENTS.test(type)) return
      const isAlive = () => api.auth.test().catch((error) => !slackFailure(error).isToken)
      // Slack may report the end of an earlier installation late, and in whole seconds.
      if ((Number(payload.event_time) + 1) * 1000 <= ((await records.read(team))?.at ?? 0)) return
      // Only one workspace of the organisation may have left.
      if (team.startsWith('E') && (await isAlive())) return
      await records.remove(team)
      log.info({ team }, 'the app was removed')
    },
    /** `list` and `remove`: see `Transport.installs`. */
    list: async () =>
      Promise.all((await records.ids()).map(async (id) => describe(id, await records.read(id)))),
    async remove(id: string): Promise<boolean> {
      const { bot, user } = (await records.read(id))?.installation ?? {}
      const report = (error: unknown) =>
        log.warn({ team: id, reason: slackFailure(error).reason }, 'a token could not be revoked')
      for (const token of [user?.token, bot?.token]) {
        if (token) await createSlackApi(token, options, deps).auth.revoke().catch(report)
      }
      const existed = await records.remove(id)
      changed(id)
      return existed
    },
  }
}

function describe(team: string, { at, installation }: Partial<StoredInstall> = {}): Install {
  if (!installation) return { team, name: 'cannot be read: it was stored with another `state-secret`' }
  return defined({ team, name: placeOf(installation)?.name, at, by: installation.user.id })
}

/** The workspace or organisation of an installation. */
export function placeOf(installation: Installation): { id: string; name?: string } | undefined {
  return installation.isEnterpriseInstall ? installation.enterprise : installation.team
}
