import { z } from 'zod'
import { timerDuration } from '../core/units.ts'

/** Who may invoke what. Roles map sender identities to skill globs; further keys are kept as they are. */
export type AccessConfig = {
  roles: Record<string, { members: string[]; skills: string[]; [key: string]: unknown }>
  [key: string]: unknown
}

/** The model that markdown skills run on where they name no other. Times in milliseconds. */
export type ModelConfig = {
  /** `provider:model`, such as `anthropic:claude-sonnet-5`. */
  name: string
  baseUrl?: string
  apiKey?: string
  temperature?: number
  maxSteps?: number
  maxOutputTokens?: number
  timeout?: number
}

const names = z.array(z.string().min(1))

/** The section `access:`. */
export const accessSchema = z
  .looseObject({
    roles: z
      .record(z.string(), z.looseObject({ members: names.default([]), skills: names.default([]) }))
      .default({}),
  })
  .transform((section): AccessConfig => section)

const modelName = z
  .string()
  .regex(/^[\w-]+:\S+$/, 'expected provider:model, such as anthropic:claude-sonnet-5')

const modelObject = z.strictObject({
  name: modelName,
  'base-url': z.url().optional(),
  'api-key': z.string().min(1).optional(),
  temperature: z.number().min(0).max(2).optional(),
  'max-steps': z.int().min(1).max(1000).optional(),
  'max-output-tokens': z.int().min(1).optional(),
  timeout: timerDuration.optional(),
})

/** The section `model:`: a name alone, or a mapping. */
export const modelSchema = z
  .union([modelName, modelObject], { error: 'expected provider:model or a mapping with a name' })
  .transform((section): ModelConfig => {
    if (typeof section === 'string') return { name: section }
    return {
      name: section.name,
      ...(section['base-url'] === undefined ? {} : { baseUrl: section['base-url'] }),
      ...(section['api-key'] === undefined ? {} : { apiKey: section['api-key'] }),
      ...(section.temperature === undefined ? {} : { temperature: section.temperature }),
      ...(section['max-steps'] === undefined ? {} : { maxSteps: section['max-steps'] }),
      ...(section['max-output-tokens'] === undefined
        ? {}
        : { maxOutputTokens: section['max-output-tokens'] }),
      ...(section.timeout === undefined ? {} : { timeout: section.timeout }),
    }
  })

/** The section `skills:`. Folders are relative to the file. */
export const skillsSchema = z.strictObject({ folders: names.default(['skills']) })
