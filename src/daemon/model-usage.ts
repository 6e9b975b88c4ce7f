import type { Metrics } from '../control/metrics.ts'
import type { Log } from '../core/log.ts'
import type { Journal } from '../core/store.ts'
import type { ModelUsage } from '../skills/markdown/loader.ts'

/** Counts what a run of a model cost, in the metrics and on the history of the message that asked for it. */
export function createUsageRecorder(deps: {
  journal: Pick<Journal, 'note'>
  metrics: Pick<Metrics, 'tokens'>
  log: Log
  now(): number
}): (usage: ModelUsage) => void {
  const { journal, metrics, log, now } = deps
  return ({ skill, model, messageId, steps, inputTokens, outputTokens }) => {
    metrics.tokens(model, inputTokens, outputTokens)
    if (messageId === undefined) return
    const detail = { skill, model, steps, inputTokens, outputTokens }
    journal
      .note(messageId, [{ at: now(), road: 'dispatch', what: 'model', detail }])
      .catch((err) => log.warn({ messageId, err }, 'what the model used is missing in the history'))
  }
}
