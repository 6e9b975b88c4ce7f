import type { AddCommand } from '../command.ts'
import { connect } from '../connection.ts'
import { pretty, show } from '../terminal.ts'

/** `trivium reload`. */
export const addReload: AddCommand = (program, context) => {
  program
    .command('reload')
    .description('make the running daemon read routes.yaml and the skills again; a bad file changes nothing')
    .action(async () => {
      const connection = await connect(context.environs())
      const result = await connection.reload()
      show(context.terminal(), result, () => pretty(result))
    })
}
