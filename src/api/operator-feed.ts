import type { Trouble } from '../core/trouble.ts'
import { createFeed } from '../features/live/feed.ts'
import { pauseCount } from '../features/pauses/pause-list.ts'
import { revisionOf } from '../features/pauses/revision.ts'
import { withPauses } from '../features/troubles/pause-troubles.ts'
import { refusalTroubles, withRefusals } from '../features/troubles/refusal-troubles.ts'
import { usedUpBudgets } from '../lib/used-up-budget.ts'
import { type ReadCauses, withTests } from './letter-causes.ts'
import { roadsOf, withHeld, withPulls, withPushes } from './metrics/roads.ts'
import type { OperatorDeps } from './operator-deps.ts'
import { readState } from './readings.ts'
import { oldestRunning } from './trouble-readings.ts'

/** The live data of the console and of `trivium top`. */
export function createOperatorFeed(
  deps: OperatorDeps & { readCauses: ReadCauses; readHeld(): Promise<number> },
  troubles: () => Promise<Trouble[]>,
) {
  const { store } = deps
  const { list: approvals } = deps.approvals
  return createFeed({
    store,
    history: deps.history,
    async overview(current) {
      const { stats, groups, subscriptions, budgets, waiting, reload, gateways } = await readState(deps)
      const counts = deps.messaging.refusals.counts()
      const paused = pauseCount({
        isStorePaused: deps.storePause.since() !== undefined,
        view: deps.messaging.pauses.view,
        subscriptions,
        // Who cannot read the schedules does not see them among the pauses either.
        schedules: await deps.pausedSchedules().then(
          (paused) => paused.length,
          () => 0,
        ),
      })
      return {
        daemon: deps.owner,
        startedAt: deps.startedAt,
        store: store.kind,
        roads: withPulls(
          withHeld(
            withTests(withPushes(roadsOf(stats), subscriptions), await deps.readCauses(stats)),
            await deps.readHeld(),
          ),
          await deps.readPulls(gateways.map(({ name }) => name)),
        ),
        waiting,
        running: oldestRunning(deps.running()),
        gateways: withPauses(
          withRefusals(gateways, refusalTroubles(counts, Date.now()), counts),
          await current,
        ),
        subscriptions,
        paused,
        usedUp: usedUpBudgets(budgets, deps.manager.list()),
        pauses: revisionOf(deps.messaging.pauses.view.state()),
        groups,
        queues: deps.queues.list(),
        jobs: deps.jobsVersion(),
        configuration: reload,
        draining: deps.draining(),
      }
    },
    approvals: () => approvals({ status: 'pending', limit: 1000 }),
    approval: async (id) => (await approvals({ id, limit: 1 }))[0],
    troubles,
    routeOf: (message) => deps.explain(message).find(({ chosen }) => chosen)?.route,
    now: Date.now,
  })
}
