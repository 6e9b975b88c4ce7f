import { isDeepStrictEqual } from 'node:util'
import { HOUR } from '../../core/units.ts'
import { commandText } from '../../lib/command-text.ts'
import { createLoop } from '../../lib/loop.ts'
import { createTurns } from '../../lib/turns.ts'
import type { Ending } from './ending.ts'
import { queueOf } from './records.ts'
import type { PushSubscription } from './schema.ts'
import { GRACE, type ServeDeps, serve } from './serve.ts'
import { STORED_KEY, type StoredByName, type StoredSubscriptions, usableOf } from './stored-subscriptions.ts'

/**
 * Interval (ms) between refreshes, which also keep the groups: a group that nobody uses is removed
 * after days.
 */
const REFRESH_INTERVAL = HOUR
/** How long (ms) running attempts may take to end when their subscription is deleted. */
const DELETION_GRACE = 1_000

/**
 * Serves the subscriptions of routes.yaml and those that `subscription-create` has stored. The file
 * has precedence where both have the same name.
 */
export function createServing(
  deps: ServeDeps & { stored: StoredSubscriptions; ending: Ending; changed(stored: StoredByName): void },
) {
  const { store, stored, ending, log } = deps
  let ofFile: readonly PushSubscription[] = []
  let storedByName: StoredByName = {}
  let subscriptions: readonly PushSubscription[] = []
  let isStarted = false
  /** The last warnings that were shown: by the start of the daemon, later in the log. */
  let shownWarnings = ''
  const served = createServed(deps)
  const inTurn = createTurns()

  const isInFile = (name: string) => ofFile.some((each) => each.name === name)
  const warnings = () =>
    Object.keys(storedByName)
      .filter((name) => isInFile(name) && !storedByName[name]?.isEnding)
      .map(shadowedWarning)
  const apply = async () => {
    storedByName = await stored.all()
    deps.changed(storedByName)
    subscriptions = [...ofFile, ...usableOf(storedByName, log).filter(({ name }) => !isInFile(name))]
    const current = warnings()
    const hasNewWarnings = current.join() !== shownWarnings
    if (isStarted && hasNewWarnings) for (const message of current) log.warn({}, message)
    shownWarnings = current.join()
    for (const { topic, name } of subscriptions) await store.topics.subscribe(topic, name, 'now')
    const old = served.outdated(subscriptions)
    await Promise.all(
      old.map((name) => served.end(name, storedByName[name]?.isEnding ? DELETION_GRACE : GRACE)),
    )
    const names = new Set(subscriptions.map(({ name }) => name))
    const changed = new Set(old).intersection(names)
    // The new settings may repair the failure, so waiting jobs are tried at once.
    for (const name of changed) await store.jobs.hasten(queueOf(name))
    if (isStarted) served.begin(subscriptions, changed)
  }
  const refresh = () => inTurn(apply)

  let completing: Promise<void> | undefined
  const loop = createLoop({
    async step() {
      await refresh()
      // Not awaited, because a deletion may wait for another daemon.
      completing ??= ending.completeAll().finally(() => {
        completing = undefined
      })
      return REFRESH_INTERVAL
    },
    failed: (err) => log.warn({ err }, 'the push subscriptions in the store could not be read; trying again'),
  })
  let unsubscribe = () => {}

  return {
    all: () => subscriptions,
    isInFile,
    settledCount: served.settledCount,
    refresh,
    warnings,
    async use(next: readonly PushSubscription[]): Promise<void> {
      ofFile = next
      await refresh()
    },
    start(): void {
      isStarted = true
      served.begin(subscriptions)
      unsubscribe = store.onSignal(`kv:${STORED_KEY}`, loop.wake)
      loop.start()
    },
    async stop(grace: number): Promise<void> {
      if (!isStarted) return
      isStarted = false
      unsubscribe()
      ending.stop()
      await loop.stop()
      await Promise.all([completing, served.endAll(grace)])
    },
  }
}

/** The subscriptions that this daemon serves, or would serve if it had the lease. */
function createServed(deps: ServeDeps) {
  const serving = new Map<string, ReturnType<typeof serve>>()
  const end = async (name: string, grace: number): Promise<void> => {
    const found = serving.get(name)
    serving.delete(name)
    await found?.stop(grace)
  }
  return {
    /** Serves those that are not served yet. `changed`: names of those that had other settings. */
    begin(subscriptions: readonly PushSubscription[], changed: ReadonlySet<string> = new Set()): void {
      for (const each of subscriptions) {
        if (serving.has(each.name)) continue
        const changedAt = changed.has(each.name) ? deps.now() : 0
        serving.set(each.name, serve(each, deps, changedAt))
      }
    },
    end,
    endAll: async (grace: number): Promise<void> =>
      void (await Promise.all([...serving.keys()].map((name) => end(name, grace)))),
    /** Names of served subscriptions that `current` lacks, or has with other settings. */
    outdated: (current: readonly PushSubscription[]): string[] =>
      [...serving].flatMap(([name, { subscription }]) => (isAmong(subscription, current) ? [] : [name])),
    settledCount: (name: string): number => serving.get(name)?.settledCount() ?? 0,
  }
}

function isAmong(subscription: PushSubscription, others: readonly PushSubscription[]): boolean {
  return others.some((each) => isDeepStrictEqual(each, subscription))
}

function shadowedWarning(name: string): string {
  const what = `push subscription ${name} is in routes.yaml and was also created by subscription-create`
  const todo = `${commandText('subscription delete', name)} removes the other one`
  return `${what}: the one in the file is used; ${todo}`
}
