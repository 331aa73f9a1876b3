# From a checkout: the configuration's function, below the command line.
#moeplan cluster=h100-8x1
NGPU=8 MODULE=llama3 CONFIG=own_8b ./run_train.sh --training.local_batch_size 2
