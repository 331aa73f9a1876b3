#!/bin/bash
#moeplan cluster=h100-8x1
axolotl train configs/none.yml
