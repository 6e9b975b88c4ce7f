import type { ModelConfig } from '../config/sections.ts'
import type { Metrics } from '../control/metrics.ts'
import type { Log } from '../core/log.ts'
import type { Journal } from '../core/store.ts'
import { defined } from '../lib/defined.ts'
import type { ModelUsage } from '../skills/markdown/loader.ts'
import type { ModelOptions } from '../skills/model/resolve-model.ts'

/**
 * Where models are reached: with a base URL in the configuration, the provider that the model names is that
 * OpenAI-compatible server; with a key alone, the key stands in for the provider's variable.
 */
export function modelSources(
  model: ModelConfig | undefined,
  env: ModelOptions['env'],
): Required<ModelOptions> {
  if (!model) return { env, providers: {} }
  const provider = model.name.slice(0, model.name.indexOf(':'))
  const { baseUrl: baseURL, apiKey } = model
  if (baseURL !== undefined) return { env, providers: { [provider]: { baseURL, ...defined({ apiKey }) } } }
  const variable = `${provider.toUpperCase().replaceAll('-', '_')}_API_KEY`
  return { env: apiKey === undefined ? env : { ...env, [variable]: apiKey }, providers: {} }
}

/** Counts what a run of a model cost, in the metrics and on the history of the message that asked for it. */
export function createUsageRecorder(deps: {
  journal: Pick<Journal, 'note'>
  metrics: Pick<Metrics, 'tokens'>
  log: Log
  now(): number
}): (usage: ModelUsage) => void {
  const { journal, metrics, log, now } = deps
  return ({ messageId, ...detail }) => {
    metrics.tokens(detail.model, detail.inputTokens, detail.outputTokens)
    if (messageId === undefined) return
    journal
      .note(messageId, [{ at: now(), road: 'dispatch', what: 'model', detail }])
      .catch((err) => log.warn({ messageId, err }, 'what the model used is missing in the history'))
  }
}
