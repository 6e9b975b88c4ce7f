import { pathGet } from '../../core/json.ts'
import type { AddCommand } from '../command.ts'
import { connect } from '../connection.ts'
import { show } from '../terminal.ts'

/** `trivium token rotate`. */
export const addToken: AddCommand = (program, context) => {
  program
    .command('token')
    .description('the control token of the running daemon')
    .command('rotate')
    .description('replace the generated control token; the old one ends at once, and with it all sessions')
    .action(async () => {
      await using connection = await connect(context.environs())
      const answer = await connection.rotateToken()
      show(context.terminal(), answer, () =>
        [
          `The control token was replaced; the new one is in ${pathGet(answer, 'file')}.`,
          'Commands here read it there. Programs that send the old one get 401 until they have the new one.',
        ].join('\n'),
      )
    })
}
