import { endWithoutOutput } from './cli/output-errors.ts'
import { main } from './cli/program.ts'

endWithoutOutput()
process.exitCode = await main(process.argv.slice(2))
// Resources left open by a failed command, such as a Redis connection, must not keep the process alive; a slow reader, such as a pager, does.
process.stdout.write('', () => setTimeout(() => process.exit(), 1000).unref())
