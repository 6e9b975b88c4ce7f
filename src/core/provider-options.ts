import { z } from 'zod'

/** Options of sections that name a model: the API of the provider, and its key. */
export const providerOptions = {
  'base-url': z.url().exactOptional().describe('Address of a compatible API.'),
  'api-key': z
    .string()
    .min(1)
    .exactOptional()
    .describe('API key for the provider of this model; by default its environment variable.'),
}
