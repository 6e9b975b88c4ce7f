import { type AddCommand, interruption, wholeNumber } from '../command.ts'
import { continueWithoutOutput } from '../output-errors.ts'

export const addDemo: AddCommand = (program, context) => {
  program
    .command('demo')
    .description('a temporary daemon with a day of traffic on all gateways; needs no account')
    .option('--messages <n>', 'approximate number of messages', wholeNumber('--messages'), 2_000)
    .action(async ({ messages }: { messages: number }) => {
      const interrupted = interruption()
      continueWithoutOutput()
      // Loaded here, because it loads a whole daemon.
      const { runDemo } = await import('../demo/run.ts')
      await runDemo(context.environs(), context.terminal(), messages, interrupted)
      // Sockets and timers of the gateways may still be open.
      process.exit(0)
    })
}
