import { isDeepStrictEqual } from 'node:util'
import { authorOf } from '../../core/author.ts'
import type { Call } from '../../core/call.ts'
import { TriviumError } from '../../core/errors.ts'
import { MESSAGE_TOPIC } from '../../core/event.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import { requireRoom } from '../../core/limits.ts'
import type { ServiceOf } from '../../core/operation.ts'
import { type Changes, changesOf } from '../../lib/changes.ts'
import { didYouMean } from '../../lib/nearest.ts'
import type { Ending } from './ending.ts'
import type * as operations from './operations.ts'
import type { Control, Records } from './records.ts'
import {
  type KnownNames,
  maskedSettings,
  newSecret,
  requireMayChange,
  settingsIn,
  validate,
  withChanges,
} from './stored-settings.ts'
import type { StoredByName, StoredSubscription, StoredSubscriptions } from './stored-subscriptions.ts'

/** Limited because every daemon checks the lease of every subscription each second or two. */
const LIMIT = {
  most: 250,
  what: 'Push subscriptions on the store',
  todo: 'Delete one that is no longer needed.',
}

type Managing = Pick<ServiceOf<typeof operations.subscriptions>, 'create' | 'update' | 'delete'>

/** Creates, changes and deletes subscriptions in the store. Those of routes.yaml are read-only. */
export function createManaging(deps: {
  stored: StoredSubscriptions
  ending: Ending
  /** Whether routes.yaml has a subscription with this name. */
  isInFile(name: string): boolean
  records(name: string): Records
  /** The number of events that a subscription has to send, and of its dead letters. */
  lostWith(name: string, topic: string): Promise<{ waiting: number; dead: number }>
  names(): string[]
  /** Names that a `match` may refer to. */
  known(): KnownNames
  /** Applies the stored subscriptions on this daemon. */
  refresh(): Promise<void>
  now(): number
}): Managing {
  const { stored, ending, isInFile, known, now } = deps
  const find = (all: StoredByName, name: string): StoredSubscription => {
    const found = all[name]
    if (found && !found.isEnding) return found
    throw new TriviumError('subscription_not_found', { name, hint: didYouMean(name, deps.names()) })
  }

  return {
    create: createCreation(deps),

    async update({ name, rotateSecret }, call) {
      if (isInFile(name)) throw new TriviumError('subscription_in_file', { name })
      const changes = settingsIn(call)
      const secret = rotateSecret ? newSecret() : undefined
      let changed: Changes = {}
      await stored.change((all) => {
        const before = find(all, name)
        const given = withChanges(before.given, changes)
        if (secret !== undefined) given.secret = [secret, ...newestOf(given.secret)]
        requireMayChange(call, validate('subscription-update', name, given, known()))
        changed = changesOf(before.given, given, maskedSettings)
        return { ...all, [name]: { ...before, given, updatedAt: now() } }
      })
      await deps.refresh()
      return { name, changes: changed, ...(secret !== undefined && { secret }) }
    },

    async delete({ name, force, dryRun }, call) {
      requireMayChange(call)
      const isShadowed = isInFile(name)
      if (isShadowed && !(await stored.all())[name]) throw new TriviumError('subscription_in_file', { name })
      const { given } = find(await stored.all(), name)
      // The subscription of the same name in the file takes over the events and dead letters.
      const lost = isShadowed
        ? { waiting: 0, dead: 0 }
        : await deps.lostWith(name, String(given.topic ?? MESSAGE_TOPIC))
      if (dryRun) return { name, deleted: false, ...lost }
      if (!force && lost.waiting + lost.dead > 0)
        throw new TriviumError('subscription_not_empty', { name, what: lostInWords(lost) })
      await stored.change((all) => {
        const found = find(all, name)
        const { [name]: _, ...others } = all
        return isShadowed ? others : { ...all, [name]: { ...found, isEnding: true } }
      })
      await deps.refresh()
      await ending.complete(name)
      return { name, deleted: true, ...lost }
    },
  }
}

/** Makes `subscription-create`. */
function createCreation(deps: Parameters<typeof createManaging>[0]): Managing['create'] {
  const { stored, ending, known, now } = deps
  return async ({ name, paused }, call) => {
    const requested = settingsIn(call)
    const secret = requested.secret === undefined ? newSecret() : undefined
    const settings = secret === undefined ? requested : { ...requested, secret }
    requireMayChange(call, validate('subscription-create', name, settings, known()))
    if (deps.isInFile(name)) throw existsAlready(name, 'routes.yaml', 'change it there')
    // Finishes a recent deletion of the same name first.
    await ending.complete(name)
    const outcome = { isNew: false }
    // The pause is stored before the subscription, so that nothing is sent.
    const startsPaused = paused && !(await stored.all())[name]
    const pause = { why: 'paused', by: whoIs(call), at: now() } as const
    const undoPause = startsPaused ? await pauseFirst(deps.records(name), pause) : async () => {}
    const add = (all: StoredByName, isUnknown: (name: string) => boolean) => {
      outcome.isNew = false
      if (isUnknown(name)) throw existsAlready(name, 'the store, by a newer version', 'use that version')
      if (all[name]?.isEnding) throw existsAlready(name, 'the store, being deleted', 'try again in a moment')
      if (all[name] && isSame(all[name].given, requested)) return undefined
      if (all[name]) throw existsAlready(name, 'the store', 'change it with subscription-update')
      requireRoom(LIMIT, Object.keys(all).length)
      outcome.isNew = true
      return { ...all, [name]: { given: settings, by: whoIs(call), at: now() } }
    }
    await stored.change(add).finally(() => (outcome.isNew ? undefined : undoPause()))
    await deps.refresh()
    const { isNew } = outcome
    return { name, created: isNew, ...(isNew && secret !== undefined && { secret }) }
  }
}

/**
 * Pauses a subscription that does not exist yet. Returns a function that removes this pause, but
 * not a later one: another call may create the subscription first.
 */
async function pauseFirst(records: Records, pause: NonNullable<Control['stopped']>) {
  await records.change((control) => ({ ...control, stopped: pause }))
  return () =>
    records.change(({ stopped, ...control }) =>
      stopped && !isDeepStrictEqual(stopped, pause) ? { ...control, stopped } : control,
    )
}

/**
 * Whether a call asks for the existing settings. If it has no secret, the stored one does not
 * count.
 */
function isSame(stored: JsonObject, requested: JsonObject): boolean {
  const { secret: _storedSecret, ...storedSettings } = stored
  const { secret, ...settings } = requested
  if (!isDeepStrictEqual(storedSettings, settings)) return false
  return secret === undefined || isDeepStrictEqual(secret, stored.secret)
}

/** The first of several secrets, which signs first. */
function newestOf(secrets: Json | undefined): Json[] {
  if (Array.isArray(secrets)) return secrets.slice(0, 1)
  return secrets === undefined ? [] : [secrets]
}

function whoIs({ caller }: Pick<Call, 'caller'>): string {
  return authorOf(caller)
}

function existsAlready(name: string, where: string, instead: string): TriviumError {
  return new TriviumError('subscription_exists', { name, where, instead })
}

function lostInWords({ waiting, dead }: { waiting: number; dead: number }): string {
  const parts = [waiting > 0 && `${waiting} waiting`, dead > 0 && `${dead} dead`]
  const total = waiting + dead
  return `${parts.filter(Boolean).join(' and ')} ${total === 1 ? 'event' : 'events'}`
}
