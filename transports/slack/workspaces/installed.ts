import type { TransportDeps } from '../../../src/core/transport.ts'
import { putLast } from '../../../src/lib/put-last.ts'
import { createSlackApi } from '../api.ts'
import { createInstalls, placeOf } from '../installs/installs.ts'
import type { OAuthOptions, SlackOptions } from '../options.ts'
import type { Identity, Workspace } from './workspace.ts'

/** How long (ms) a lookup is cached; the installation may be removed on another daemon. */
const FRESH = 3000
/** Maximum number of cached installations. */
const LIMIT = 5000

/** The workspaces of an app installed by OAuth. `found` has those in use; `add` adds one. */
export function createInstalled(
  oauth: OAuthOptions,
  options: SlackOptions,
  deps: TransportDeps,
  found: Map<string, Workspace>,
  add: (who: Identity) => Promise<Workspace>,
) {
  const { now } = deps
  /** Finished and running lookups, with their expiry (Unix ms). */
  const looked = new Map<string, { until: number; workspace: Promise<Workspace | undefined> }>()
  const forget = (id: string) => {
    looked.delete(id)
    found.delete(id)
  }
  const installs = createInstalls(oauth, options, deps, forget)

  const lookUp = async (id: string): Promise<Workspace | undefined> => {
    const installation = await installs.find(id)
    if (!installation) return void forget(id)
    const { bot, user: installer, isEnterpriseInstall: isOrg = false } = installation
    const known = found.get(id)
    if (known?.api.token === bot.token) return Object.assign(known, { installer })
    const name = placeOf(installation)?.name ?? id
    const api = createSlackApi(bot.token, options, deps)
    return add({ team: id, name, botUser: bot.userId, botId: bot.id, installer, api, isOrg })
  }

  return {
    installs,
    /** Rejects if the store is unavailable. */
    find(id: string): Promise<Workspace | undefined> {
      const known = looked.get(id)
      if (known && known.until > now()) return known.workspace
      const workspace = lookUp(id)
      putLast(looked, id, { until: now() + FRESH, workspace }, LIMIT)
      workspace.catch(() => looked.delete(id))
      return workspace
    },
  }
}
