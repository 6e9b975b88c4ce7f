import type { LanguageModel } from 'ai'
import { TriviumError } from '../../core/errors.ts'
import { defined } from '../../lib/defined.ts'

export type ModelSources = {
  /**
   * The model of skills that name none and whose route names none. Its base URL makes its provider that OpenAI-compatible server;
   * its key alone stands in for the provider's variable.
   */
  model?: { name: string; baseUrl?: string | undefined; apiKey?: string | undefined } | undefined
  /** Where keys and base URLs of the built-in providers are looked up. */
  env: Record<string, string | undefined>
}

/** The model that `provider:MODEL` names; loads the package of the provider. Throws `model_unusable`. */
export async function resolveModel(id: string, { model: given, env }: ModelSources): Promise<LanguageModel> {
  const [, provider, model = ''] = /^([^:]+):(.+)$/s.exec(id) ?? []
  if (!provider) throw unusable(id, 'write it as provider:model, e.g. anthropic:<model>')
  const own = given?.name.startsWith(`${provider}:`) ? given : undefined
  if (own?.baseUrl) return compatible(provider, model, own.baseUrl, own.apiKey)
  if (!/^(anthropic|openai|openai-compatible)$/.test(provider)) {
    const named = given?.baseUrl ? `, ${given.name.split(':')[0]}` : ''
    const known = `anthropic, openai, openai-compatible${named}`
    throw unusable(id, `there is no provider ${provider} (known: ${known})`)
  }

  const prefix = provider.toUpperCase().replaceAll('-', '_')
  const isCompatible = provider === 'openai-compatible'
  // What Compose sets to nothing is not set.
  const apiKey = (own?.apiKey ?? env[`${prefix}_API_KEY`]) || undefined
  const baseURL = env[`${prefix}_BASE_URL`] || undefined
  if (!(isCompatible ? baseURL : apiKey)) {
    const needed = `${prefix}_${isCompatible ? 'BASE_URL' : 'API_KEY'}`
    throw unusable(id, `set ${needed}, in the environment or in .env`)
  }
  if (isCompatible && baseURL) return compatible(provider, model, baseURL, apiKey)
  const settings = defined({ apiKey, baseURL })
  if (provider === 'openai') return (await import('@ai-sdk/openai')).createOpenAI(settings)(model)
  return (await import('@ai-sdk/anthropic')).createAnthropic(settings)(model)
}

async function compatible(name: string, model: string, baseURL: string, apiKey?: string) {
  const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible')
  return createOpenAICompatible({ name, includeUsage: true, baseURL, ...defined({ apiKey }) })(model)
}

function unusable(model: string, reason: string): TriviumError {
  return new TriviumError('model_unusable', { model, reason })
}
