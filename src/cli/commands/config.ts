import { transports } from '../../../transports/registry.ts'
import { configJsonSchema } from '../../config/json-schema.ts'
import type { AddCommand } from '../command.ts'

/** `trivium config schema`. */
export const addConfig: AddCommand = (program, context) => {
  program
    .command('config')
    .description('the configuration')
    .command('schema', { isDefault: true })
    .description(
      'the JSON Schema of routes.yaml, for editors; the daemon writes it to <data dir>/routes.schema.json',
    )
    .action(() => {
      context.terminal().out(`${JSON.stringify(configJsonSchema(transports), null, 2)}\n`)
    })
}
