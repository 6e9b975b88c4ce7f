import { z } from 'zod'

/** Options of a section that names a model: where the provider's API is, and the key to it. */
export const providerOptions = {
  'base-url': z.url().exactOptional().describe('Address of a compatible API.'),
  'api-key': z
    .string()
    .min(1)
    .exactOptional()
    .describe('API key; by default the environment variable of the provider.'),
}
