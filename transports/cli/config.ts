import { z } from 'zod'

/** The options of a cli gateway in routes.yaml: none. */
export const cliOptions = z.strictObject({})

export type CliOptions = z.output<typeof cliOptions>
