/* moeplan: memory, cost and execution of Mixture-of-Experts plans. The commands stand in
 * cli/command/commands.c, one file each. */
#include "base/output.h"
#include "cli/command/command.h"

int main(int argc, char **argv)
{
    output_prepare();
    return command_main(argc, argv);
}
