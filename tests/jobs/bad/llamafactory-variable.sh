#!/bin/bash
#moeplan cluster=h100-8x1
llamafactory-cli train $CONFIG
