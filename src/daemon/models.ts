import type { ModelConfig } from '../config/sections.ts'
import { defined } from '../lib/defined.ts'
import type { ModelOptions } from '../skills/model/resolve-model.ts'

/**
 * Where models are reached: with a base URL in the configuration, the provider that the model names is that
 * OpenAI-compatible server; with a key alone, the key stands in for the provider's variable.
 */
export function modelSources(model: ModelConfig | undefined, env: ModelOptions['env']): ModelOptions {
  if (!model) return { env }
  const provider = model.name.slice(0, model.name.indexOf(':'))
  const { baseUrl: baseURL, apiKey } = model
  if (baseURL !== undefined) return { env, providers: { [provider]: { baseURL, ...defined({ apiKey }) } } }
  const variable = `${provider.toUpperCase().replaceAll('-', '_')}_API_KEY`
  return { env: apiKey === undefined ? env : { ...env, [variable]: apiKey } }
}
