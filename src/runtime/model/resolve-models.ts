import { reasonOf, TriviumError } from '../../core/errors.ts'
import type { Log } from '../../core/log.ts'
import { loadPart } from '../../core/parts.ts'
import { defined } from '../../lib/defined.ts'
import { type Candidate, type FailedModel, failedAll, type Model } from './failover.ts'

export type ModelSources = {
  /**
   * The default model. With `baseUrl`, its provider is an OpenAI-compatible server. `apiKey` counts
   * instead of the environment variable.
   */
  model?:
    | {
        name?: string
        fallback?: readonly string[]
        baseUrl?: string | undefined
        apiKey?: string | undefined
      }
    | undefined
  /** Environment variables with keys and base URLs of the built-in providers. */
  env: Record<string, string | undefined>
}

export type Candidates = { candidates: [Candidate, ...Candidate[]]; failed: FailedModel[] }

/** The usable models, and why others are not. Throws `model_unusable` if none is usable. */
export async function resolveModels({
  models,
  sources,
  log,
}: {
  models: readonly string[]
  sources: ModelSources
  log: Log
}): Promise<Candidates> {
  const failed: FailedModel[] = []
  const candidates: Candidate[] = []
  for (const id of models) {
    try {
      candidates.push({ id, model: await resolveModel(id, sources) })
    } catch (error) {
      if (models.length === 1) throw error
      log.warn({ model: id, reason: reasonOf(error) }, 'a model cannot be used; trying the next one')
      failed.push({ model: id, error })
    }
  }
  const [first, ...others] = candidates
  if (!first) throw failedAll(failed)
  return { candidates: [first, ...others], failed }
}

/** Resolves `provider:MODEL` and loads the provider's package. Throws `model_unusable`. */
async function resolveModel(id: string, { model: configured, env }: ModelSources): Promise<Model> {
  const [, provider, model = ''] = /^([^:]+):(.+)$/s.exec(id) ?? []
  if (!provider) throw unusable(id, 'write it as provider:model, e.g. anthropic:<model>')
  const own = configured?.name?.startsWith(`${provider}:`) ? configured : undefined
  if (own?.baseUrl) return compatible(provider, model, own.baseUrl, own.apiKey)
  if (!/^(anthropic|openai|openai-compatible)$/.test(provider)) {
    const custom = configured?.baseUrl ? `, ${configured.name?.split(':')[0]}` : ''
    const known = `anthropic, openai, openai-compatible${custom}`
    throw unusable(id, `there is no provider ${provider} (known: ${known})`)
  }

  const prefix = provider.toUpperCase().replaceAll('-', '_')
  const isCompatible = provider === 'openai-compatible'
  // Compose sets missing variables to an empty string.
  const apiKey = (own?.apiKey ?? env[`${prefix}_API_KEY`]) || undefined
  const baseURL = env[`${prefix}_BASE_URL`] || undefined
  if (!(isCompatible ? baseURL : apiKey)) {
    const variable = `${prefix}_${isCompatible ? 'BASE_URL' : 'API_KEY'}`
    throw unusable(id, `set ${variable}, in the environment or in .env`)
  }
  if (isCompatible && baseURL) return compatible(provider, model, baseURL, apiKey)
  const settings = defined({ apiKey, baseURL })
  if (provider === 'openai') {
    const { createOpenAI } = await loadPart('model', () => import('@ai-sdk/openai'))
    return createOpenAI(settings)(model)
  }
  const { createAnthropic } = await loadPart('model', () => import('@ai-sdk/anthropic'))
  return createAnthropic(settings)(model)
}

async function compatible(name: string, model: string, baseURL: string, apiKey?: string) {
  const { createOpenAICompatible } = await loadPart('model', () => import('@ai-sdk/openai-compatible'))
  return createOpenAICompatible({ name, includeUsage: true, baseURL, ...defined({ apiKey }) })(model)
}

function unusable(model: string, reason: string): TriviumError {
  return new TriviumError('model_unusable', { model, reason })
}
