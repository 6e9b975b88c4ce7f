import type { LanguageModel } from 'ai'
import { TriviumError } from '../../core/errors.ts'

/** A provider under a name of one's own: any server that speaks OpenAI's chat completions. */
export type ModelProvider = { baseURL: string; apiKey?: string }

export type ModelOptions = {
  /** Further providers by name, for `NAME:MODEL`. */
  providers?: Record<string, ModelProvider>
  /** Where keys and base URLs of the built-in providers are looked up. */
  env: Record<string, string | undefined>
}

/** The model that `provider:MODEL` names; loads the package of the provider. Throws `model_unusable`. */
export async function resolveModel(id: string, options: ModelOptions): Promise<LanguageModel> {
  const colon = id.indexOf(':')
  const provider = id.slice(0, colon)
  const model = id.slice(colon + 1)
  if (colon < 1 || model === '') throw unusable(id, 'write it as provider:model, e.g. anthropic:<model>')
  const { env, providers = {} } = options
  const own = Object.hasOwn(providers, provider) ? providers[provider] : undefined
  if (own) return compatible(provider, model, own)
  if (!/^(anthropic|openai|openai-compatible)$/.test(provider)) {
    const known = ['anthropic', 'openai', 'openai-compatible', ...Object.keys(providers)].join(', ')
    throw unusable(id, `there is no provider ${provider} (known: ${known})`)
  }

  const prefix = provider.toUpperCase().replaceAll('-', '_')
  const isCompatible = provider === 'openai-compatible'
  // What Compose sets to nothing is not set.
  const [apiKey = '', baseURL = ''] = [env[`${prefix}_API_KEY`], env[`${prefix}_BASE_URL`]]
  if (!(isCompatible ? baseURL : apiKey)) {
    const needed = `${prefix}_${isCompatible ? 'BASE_URL' : 'API_KEY'}`
    throw unusable(id, `set ${needed}, in the environment or in .env`)
  }
  if (isCompatible) return compatible(provider, model, { baseURL, ...(apiKey && { apiKey }) })
  const settings = { apiKey, ...(baseURL && { baseURL }) }
  if (provider === 'openai') return (await import('@ai-sdk/openai')).createOpenAI(settings)(model)
  return (await import('@ai-sdk/anthropic')).createAnthropic(settings)(model)
}

async function compatible(name: string, model: string, provider: ModelProvider): Promise<LanguageModel> {
  const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible')
  return createOpenAICompatible({ name, includeUsage: true, ...provider })(model)
}

function unusable(model: string, reason: string): TriviumError {
  return new TriviumError('model_unusable', { model, reason })
}
