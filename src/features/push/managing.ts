import { isDeepStrictEqual } from 'node:util'
import type { PushSubscription } from '../../config/schema/push.ts'
import type { Call } from '../../core/call.ts'
import { TriviumError } from '../../core/errors.ts'
import { MESSAGE_TOPIC } from '../../core/event.ts'
import type { Json, JsonObject } from '../../core/json.ts'
import { requireRoom } from '../../core/limits.ts'
import type { ServiceOf } from '../../core/operation.ts'
import { didYouMean } from '../../lib/nearest.ts'
import type { Ending } from './ending.ts'
import type { Made, MadeByName, MadeSubscription } from './made.ts'
import { changedBy, type Known, newSecret, requireMayChange, settingsIn, validated } from './made-settings.ts'
import type * as operations from './operations.ts'
import type { Control, Records } from './records.ts'

/** Limited because every daemon checks the lease of each subscription every second or two. */
const ROOM = {
  most: 250,
  what: 'Push subscriptions on the store',
  todo: 'Delete one that is no longer needed.',
}

type Managing = Pick<ServiceOf<typeof operations.subscriptions>, 'create' | 'update' | 'delete'>

/** Creates, changes and deletes subscriptions in the store. Those of routes.yaml are read-only. */
export function createManaging(deps: {
  made: Made
  ending: Ending
  ofFile(): readonly PushSubscription[]
  records(name: string): Records
  names(): string[]
  /** Names that a `match` may refer to. */
  known(): Known
  /** Applies the stored subscriptions on this daemon. */
  refresh(): Promise<void>
  now(): number
}): Managing {
  const { made, ending, known, now } = deps
  const isInFile = (name: string) => deps.ofFile().some((each) => each.name === name)
  const find = (all: MadeByName, name: string): MadeSubscription => {
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
      await made.change((all) => {
        const before = find(all, name)
        const given = changedBy(before.given, changes)
        if (secret !== undefined) given.secret = [secret, ...newestOf(given.secret)]
        requireMayChange(call, validated('subscription-update', name, given, known()))
        return { ...all, [name]: { ...before, given, updatedAt: now() } }
      })
      await deps.refresh()
      return { name, ...(secret !== undefined && { secret }) }
    },

    async delete({ name, force, dryRun }, call) {
      requireMayChange(call)
      const isShadowed = isInFile(name)
      if (isShadowed && !(await made.all())[name]) throw new TriviumError('subscription_in_file', { name })
      const { given } = find(await made.all(), name)
      // A subscription of the same name in the file reads this group.
      const kept = isShadowed
        ? { waiting: 0, dead: 0 }
        : await ending.count(name, String(given.topic ?? MESSAGE_TOPIC))
      if (dryRun) return { name, deleted: false, ...kept }
      if (!force && kept.waiting + kept.dead > 0)
        throw new TriviumError('subscription_not_empty', { name, what: wordsOf(kept) })
      await made.change((all) => {
        const found = find(all, name)
        const { [name]: _, ...others } = all
        return isShadowed ? others : { ...all, [name]: { ...found, isEnding: true } }
      })
      await deps.refresh()
      await ending.complete(name)
      return { name, deleted: true, ...kept }
    },
  }
}

/** Makes `subscription-create`. */
function createCreation(deps: Parameters<typeof createManaging>[0]): Managing['create'] {
  const { made, ending, known, now } = deps
  return async ({ name, paused }, call) => {
    const given = settingsIn(call)
    const secret = given.secret === undefined ? newSecret() : undefined
    const whole = secret === undefined ? given : { ...given, secret }
    requireMayChange(call, validated('subscription-create', name, whole, known()))
    if (deps.ofFile().some((each) => each.name === name)) throw exists(name, 'routes.yaml', 'change it there')
    // Finishes a recent deletion of the same name first.
    await ending.complete(name)
    const outcome = { isNew: false }
    // Before it is there, so that nothing is sent.
    const isPaused = paused && !(await made.all())[name]
    const by = { why: 'paused', by: whoIs(call), at: now() } as const
    const takeBack = isPaused ? await stopFirst(deps.records(name), by) : async () => {}
    const add = (all: MadeByName) => {
      outcome.isNew = false
      if (all[name]?.isEnding) throw exists(name, 'the store, being deleted', 'try again in a moment')
      if (all[name] && isSame(all[name].given, given)) return undefined
      if (all[name]) throw exists(name, 'the store', 'change it with subscription-update')
      requireRoom(ROOM, Object.keys(all).length)
      outcome.isNew = true
      return { ...all, [name]: { given: whole, by: whoIs(call), at: now() } }
    }
    await made.change(add).finally(() => (outcome.isNew ? undefined : takeBack()))
    await deps.refresh()
    const { isNew } = outcome
    return { name, created: isNew, ...(isNew && secret !== undefined && { secret }) }
  }
}

/** Stops a subscription that is not there yet. Returns what takes this back, if another call creates it first. */
async function stopFirst(records: Records, stopped: NonNullable<Control['stopped']>) {
  await records.change((control) => ({ ...control, stopped }))
  return () =>
    records.change(({ stopped: found, ...control }) =>
      found && !isDeepStrictEqual(found, stopped) ? { ...control, stopped: found } : control,
    )
}

/**
 * Whether a repeated call asks for the existing settings. Ignores a generated secret, which the
 * call does not contain.
 */
function isSame(stored: JsonObject, given: JsonObject): boolean {
  const { secret: _stored, ...settings } = stored
  const { secret, ...asked } = given
  return (
    isDeepStrictEqual(settings, asked) && (secret === undefined || isDeepStrictEqual(secret, stored.secret))
  )
}

function newestOf(secrets: Json | undefined): Json[] {
  if (Array.isArray(secrets)) return secrets.slice(0, 1)
  return secrets === undefined ? [] : [secrets]
}

function whoIs({ caller }: Pick<Call, 'caller'>): string {
  return caller.id ?? caller.kind
}

function exists(name: string, where: string, instead: string): TriviumError {
  return new TriviumError('subscription_exists', { name, where, instead })
}

function wordsOf({ waiting, dead }: { waiting: number; dead: number }): string {
  const parts = [waiting > 0 && `${waiting} waiting`, dead > 0 && `${dead} dead`]
  const total = waiting + dead
  return `${parts.filter(Boolean).join(' and ')} ${total === 1 ? 'event' : 'events'}`
}
