import type { LanguageModel } from 'ai'
import { TriviumError } from '../../core/errors.ts'
import { defined } from '../../lib/defined.ts'

/** A provider under a name of one's own: any server that speaks OpenAI's chat completions. */
export type ModelProvider = { baseURL: string; apiKey?: string }

export type ModelOptions = {
  /** Further providers by name, for `NAME:MODEL`. */
  providers?: Record<string, ModelProvider>
  /** Where keys and base URLs of the built-in providers are looked up. */
  env: Record<string, string | undefined>
}

/**
 * Makes a model of `anthropic:MODEL`, `openai:MODEL`, `openai-compatible:MODEL` or `NAME:MODEL`. The
 * provider's package is loaded when it is first used. Throws `model_unusable` with what to set.
 */
export async function resolveModel(id: string, options: ModelOptions): Promise<LanguageModel> {
  const colon = id.indexOf(':')
  const provider = id.slice(0, colon)
  const model = id.slice(colon + 1)
  if (colon < 1 || model === '') throw unusable(id, 'write it as provider:model, e.g. anthropic:<model>')
  const { env, providers = {} } = options
  const needed = (name: string): string => {
    const value = env[name]
    if (!value) throw unusable(id, `set ${name}, in the environment or in .env`)
    return value
  }
  /** What Compose sets to nothing is not set. */
  const given = (name: string) => env[name] || undefined
  const own = Object.hasOwn(providers, provider) ? providers[provider] : undefined
  if (own) return compatible(provider, model, own)

  if (provider === 'anthropic') {
    const { createAnthropic } = await import('@ai-sdk/anthropic')
    const baseURL = given('ANTHROPIC_BASE_URL')
    return createAnthropic({ apiKey: needed('ANTHROPIC_API_KEY'), ...defined({ baseURL }) })(model)
  }
  if (provider === 'openai') {
    const { createOpenAI } = await import('@ai-sdk/openai')
    const baseURL = given('OPENAI_BASE_URL')
    return createOpenAI({ apiKey: needed('OPENAI_API_KEY'), ...defined({ baseURL }) })(model)
  }
  if (provider === 'openai-compatible') {
    const apiKey = given('OPENAI_COMPATIBLE_API_KEY')
    return compatible(provider, model, {
      baseURL: needed('OPENAI_COMPATIBLE_BASE_URL'),
      ...defined({ apiKey }),
    })
  }
  const known = ['anthropic', 'openai', 'openai-compatible', ...Object.keys(providers)].join(', ')
  throw unusable(id, `there is no provider ${provider} (known: ${known})`)
}

async function compatible(name: string, model: string, provider: ModelProvider): Promise<LanguageModel> {
  const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible')
  return createOpenAICompatible({ name, includeUsage: true, ...provider })(model)
}

function unusable(model: string, reason: string): TriviumError {
  return new TriviumError('model_unusable', { model, reason })
}
