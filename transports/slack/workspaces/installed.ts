import type { TransportDeps } from '../../../src/core/transport.ts'
import { putLast } from '../../../src/lib/put-last.ts'
import { createSlackApi } from '../api.ts'
import { createInstalls, placeOf } from '../installs/installs.ts'
import type { OAuthOptions, SlackOptions } from '../options.ts'
import type { Identity, Workspace } from './workspace.ts'

/** How long a lookup is cached: the installation may be removed on another daemon. */
const CACHE_MS = 3_000
/** Maximum number of cached lookups. */
const MAX_CACHED = 5_000

/**
 * The workspaces of an app installed by OAuth. `open`: those in use, by id. `add` adds one to them.
 */
export function createInstalled(
  oauth: OAuthOptions,
  options: SlackOptions,
  deps: TransportDeps,
  open: Map<string, Workspace>,
  add: (who: Identity) => Promise<Workspace>,
) {
  const { now } = deps
  /** Finished and running lookups, with their expiry (Unix ms). */
  const lookups = new Map<string, { until: number; workspace: Promise<Workspace | undefined> }>()
  const forget = (id: string) => {
    lookups.delete(id)
    open.delete(id)
  }
  const installs = createInstalls(oauth, options, deps, forget)

  const lookUp = async (id: string): Promise<Workspace | undefined> => {
    const installation = await installs.find(id)
    if (!installation) return void forget(id)
    const { bot, user: installer, isEnterpriseInstall: isOrg = false } = installation
    const existing = open.get(id)
    if (existing?.api.token === bot.token) return Object.assign(existing, { installer })
    const name = placeOf(installation)?.name ?? id
    const api = createSlackApi(bot.token, options, deps)
    return add({ team: id, name, botUser: bot.userId, botId: bot.id, installer, api, isOrg })
  }

  return {
    installs,
    /** The workspace of an installation. Rejects if the store is unavailable. */
    find(id: string): Promise<Workspace | undefined> {
      const cached = lookups.get(id)
      if (cached && cached.until > now()) return cached.workspace
      const workspace = lookUp(id)
      putLast(lookups, id, { until: now() + CACHE_MS, workspace }, MAX_CACHED)
      workspace.catch(() => lookups.delete(id))
      return workspace
    },
  }
}
