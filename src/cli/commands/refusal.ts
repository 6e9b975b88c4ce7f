import { refusals } from '../../engine/operations/gateways.ts'
import { humanRefused } from '../../engine/print/refusals.ts'
import type { AddCommand } from '../command.ts'
import { connect } from '../connection.ts'
import { showDefault } from '../default-help.ts'
import { runsOperation } from '../operation-command.ts'

/** `trivium refusal list`: the refusals that the running daemon remembers. */
export const addRefusal: AddCommand = (program, context) => {
  const refusal = program
    .command('refusal')
    .description('deliveries that gateways refused: list them, and try another secret on them')
  const command = refusal
    .command('list', { isDefault: true })
    .description(
      'recent refusals of gateways, by cause and newest first, from the memory of the running daemon',
    )
    .option('--each', 'each kept refusal with its id, for `refusal try --id`')
  runsOperation(command, context, {
    operation: 'refused',
    args: refusals.refused,
    human: (result) =>
      humanRefused(result, { isEach: command.opts().each === true, isScreen: context.terminal().isTerminal }),
    open: connect,
  })
  showDefault(refusal, command)
}
