import { isDeepStrictEqual } from 'node:util'
import type { PushSubscription } from '../../config/schema/push.ts'
import { createLoop } from '../../lib/loop.ts'
import { createTurns } from '../../lib/turns.ts'
import type { Ending } from './ending.ts'
import { MADE_KEY, type Made, type MadeByName, usableOf } from './made.ts'
import { GRACE, type ServeDeps, serve } from './serve.ts'

/** Interval (ms) for keeping groups alive: unread groups are removed after days. */
const KEEP = 3_600_000
/** How long (ms) running attempts get when their subscription is deleted. */
const LAST_MOMENT = 1_000

/** Serves the subscriptions of the file, and those of calls unless the file has the same name. */
export function createServing(
  deps: ServeDeps & { made: Made; ending: Ending; changed(made: MadeByName): void },
) {
  const { store, made, ending, log } = deps
  let ofFile: readonly PushSubscription[] = []
  let ofCalls: MadeByName = {}
  let subscriptions: readonly PushSubscription[] = []
  let [isStarted, warned] = [false, '']
  const serving = new Map<string, ReturnType<typeof serve>>()
  const inTurn = createTurns()

  const isInFile = (name: string) => ofFile.some((each) => each.name === name)
  const warnings = () =>
    Object.keys(ofCalls)
      .filter((name) => isInFile(name) && !ofCalls[name]?.isEnding)
      .map(shadowedWarning)
  const end = async (name: string, grace: number) => {
    const found = serving.get(name)
    serving.delete(name)
    await found?.stop(grace)
  }
  const begin = () => {
    for (const each of subscriptions) if (!serving.has(each.name)) serving.set(each.name, serve(each, deps))
  }
  const apply = async () => {
    ofCalls = await made.all()
    deps.changed(ofCalls)
    subscriptions = [...ofFile, ...usableOf(ofCalls, log).filter(({ name }) => !isInFile(name))]
    if (isStarted && warnings().join() !== warned) for (const message of warnings()) log.warn({}, message)
    warned = warnings().join()
    for (const { topic, name } of subscriptions) await store.topics.subscribe(topic, name, 'now')
    const old = [...serving].filter(
      ([, { subscription }]) => !subscriptions.some((each) => isDeepStrictEqual(each, subscription)),
    )
    await Promise.all(old.map(([name]) => end(name, ofCalls[name]?.isEnding ? LAST_MOMENT : GRACE)))
    if (isStarted) begin()
  }
  const refresh = () => inTurn(apply)

  let completing: Promise<void> | undefined
  const loop = createLoop({
    async step() {
      await refresh()
      // Not awaited: it may wait for another daemon.
      completing ??= ending.completeAll().finally(() => {
        completing = undefined
      })
      return KEEP
    },
    failed: (err) => log.warn({ err }, 'the push subscriptions in the store could not be read; trying again'),
  })
  let off = () => {}

  return {
    all: () => subscriptions,
    ofFile: () => ofFile,
    isMade: (name: string) => !isInFile(name),
    settledCount: (name: string) => serving.get(name)?.settledCount() ?? 0,
    refresh,
    warnings,
    async use(next: readonly PushSubscription[]): Promise<void> {
      ofFile = next
      await refresh()
    },
    start(): void {
      isStarted = true
      begin()
      off = store.onSignal(`kv:${MADE_KEY}`, loop.wake)
      loop.start()
    },
    async stop(grace: number): Promise<void> {
      if (!isStarted) return
      isStarted = false
      off()
      ending.stop()
      await loop.stop()
      await Promise.all([completing, ...[...serving.keys()].map((name) => end(name, grace))])
    },
  }
}

function shadowedWarning(name: string): string {
  const todo = `\`trivium subscription delete ${name}\` removes the other one`
  return `push subscription ${name} is in routes.yaml and was also created by subscription-create: the one in the file is used; ${todo}`
}
