import { endWithoutOutput } from './cli/output-errors.ts'
import { main } from './cli/program.ts'

endWithoutOutput()
process.exitCode = await main(process.argv.slice(2))
// Ends the process one second after the output was written, even if a failed command left a
// connection open. Until a slow reader, such as a pager, has read the output, the process stays.
process.stdout.write('', () => setTimeout(() => process.exit(), 1000).unref())
