import { type JsonObject, textAt } from '../../src/core/json.ts'
import type { TransportDeps } from '../../src/core/transport.ts'
import { MINUTE } from '../../src/core/units.ts'
import { slackFailure } from './api.ts'
import type { SlackOptions } from './options.ts'
import type { Workspaces } from './workspaces/workspaces.ts'

/** Polling interval of members, in addition to change events. */
const POLL_MS = MINUTE
/** Members that were not confirmed for this time no longer count: someone may have been removed. */
const VALID_MS = 10 * MINUTE

/**
 * The members of the groups in `user-groups`, for access rules. Cached in memory, so that accepting
 * a message does not wait for Slack. Unknown groups have no members.
 */
export function createUserGroups(options: SlackOptions, { log, now }: TransportDeps, workspaces: Workspaces) {
  const wanted = options['user-groups']
  const members = new Map<string, { users: ReadonlySet<string>; at: number }>()
  const faults = new Map<string, string>()
  let timer: NodeJS.Timeout | undefined

  const load = async (group: string): Promise<void> => {
    const answers = await Promise.allSettled(
      (await workspaces.ready()).map(({ api }) => api.usergroups.users.list({ usergroup: group })),
    )
    // Each group belongs to one of the workspaces, so the others refuse with `no_such_subteam`.
    const users = answers.flatMap((each) => (each.status === 'fulfilled' ? (each.value.users ?? []) : []))
    const isKnown = answers.some(({ status }) => status === 'fulfilled')
    if (isKnown) {
      members.set(group, { users: new Set(users), at: now() })
      faults.delete(group)
      return
    }
    const failures = answers.flatMap((each) =>
      each.status === 'rejected' ? [slackFailure(each.reason)] : [],
    )
    const failure = failures.find(({ code }) => code !== 'no_such_subteam') ?? failures[0]
    const fault = `the members of the user group ${group} cannot be read: ${failure?.reason ?? 'there is no workspace'}`
    if (!faults.has(group)) log.warn({ group }, fault)
    faults.set(group, fault)
  }
  // `load` rejects only if the workspaces are not known yet, which is a fault of its own.
  const loadAll = async (groups: readonly string[]) => void (await Promise.allSettled(groups.map(load)))

  return {
    /** Resolves after the first request for members. Never rejects. */
    async start(): Promise<void> {
      if (wanted.length === 0) return
      timer = setInterval(() => void loadAll(wanted), POLL_MS).unref()
      await loadAll(wanted)
    },
    /**
     * Loads a group again after an event about its change: `subteam_members_changed` has its id,
     * `subteam_updated` the whole group (https://docs.slack.dev/reference/events/subteam_updated).
     * Ignores other payloads.
     */
    handleEvent(payload: JsonObject): void {
      const group = textAt(payload, 'event.subteam_id') ?? textAt(payload, 'event.subteam.id') ?? ''
      if (wanted.includes(group)) void load(group).catch(() => {})
    },
    /** The groups of a user; undefined if there are none. */
    of(user: string): string[] | undefined {
      const groups = [...members].flatMap(([group, { users, at }]) =>
        users.has(user) && now() - at < VALID_MS ? [group] : [],
      )
      return groups.length > 0 ? groups : undefined
    },
    faults: () => [...faults.values()],
    stop: () => clearInterval(timer),
  }
}
