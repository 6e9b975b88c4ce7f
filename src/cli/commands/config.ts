import { transports } from '../../../transports/registry.ts'
import { configJsonSchema } from '../../config/json-schema.ts'
import { type AddCommand, loadFor } from '../command.ts'
import { show } from '../terminal.ts'

/** `trivium config schema|show`. */
export const addConfig: AddCommand = (program, context) => {
  const command = program.command('config').description('routes.yaml as loaded, or its JSON Schema')
  command
    .command('show', { isDefault: true })
    .description('routes.yaml and its included files as loaded, without secrets')
    .action(async () => {
      const { asRead } = await loadFor(context.environs(), { withoutVariables: true })
      show(context.terminal(), asRead, () => withoutComments(asRead.yaml))
    })
  command
    .command('schema')
    .description(
      'the JSON Schema of routes.yaml, for editors; the daemon writes it to <data dir>/routes.schema.json',
    )
    .action(() => {
      context.terminal().out(`${JSON.stringify(configJsonSchema(transports), null, 2)}\n`)
    })
}

/** Hides masked comments, which are of no use to people. */
function withoutComments(yaml: string): string {
  const lines = yaml.split('\n').filter((line) => !/^\s*# …$/.test(line))
  const text = lines.map((line) => line.replace(/\s+# …$/, '')).join('\n')
  return text.replaceAll(/\n{3,}/g, '\n\n').trim()
}
