import tab from '@bomb.sh/tab/commander'
import type { AddCommand } from '../command.ts'

/**
 * `trivium completion <shell>`, and the hidden `complete` that its script calls for commands,
 * skills and their flags.
 */
export const addCompletion: AddCommand = (program) => {
  tab(program, { completionCommandName: 'completion' })
  program.commands
    .find((command) => command.name() === 'completion')
    ?.description(
      'the script that lets a shell complete commands, skills and flags: source <(trivium completion bash)',
    )
}
